"""How measurements are shown."""

from pathlib import Path

from benchmarks import report, suite
from benchmarks.suite import Measurement, telling_lines


def _throughput(system: str, family: str, records: int, seconds: list[float]) -> Measurement:
    samples = [
        {"records": records, "seconds": each, "checks": {}, "versions": {"python": "3"}, "settings": {"mode": system}}
        for each in seconds
    ]
    return Measurement("count-1k", system, family, records, samples)


def _latency(system: str, family: str, p50: float) -> Measurement:
    delays = {"p50": p50, "p99": p50 * 2, "p99.9": p50 * 3, "max": p50 * 4}
    sample = {"latency_ms": delays, "checks": {"results": 1_000}, "versions": {}, "settings": {}}
    return Measurement("latency-1", system, family, 0, [sample])


THREE = [
    _throughput("handwritten", "handwritten", 1_000, [1.0, 2.0, 4.0]),
    _throughput("penstock", "penstock", 1_000, [2.0, 4.0, 4.0]),
    _throughput("pyflink-thread", "pyflink", 100, [20.0, 20.0, 10.0]),
    _throughput("pyflink-process", "pyflink", 100, [50.0, 50.0, 50.0]),
]


def test_the_table_shows_median_spread_and_share_of_the_limit() -> None:
    # Rates: 1000, 500, 250 | 500, 250, 250 | 5, 5, 10 | 2, 2, 2. Shares pair the repeats: 0.5, 0.5, 1.0.
    assert report.table(THREE).splitlines() == [
        "count-1k: keyed running count, 1,000 keys",
        "  system           records  records/s  spread  of hand-written  results",
        "  handwritten        1,000        500    150%            1.000    equal",
        "  penstock           1,000        250    100%            0.500    equal",
        "  pyflink-thread       100          5    100%            0.010    equal",
        "  pyflink-process      100          2      0%            0.004    equal",
        "  penstock makes 0.5 x the records per second of handwritten",
        "  penstock makes 50 x the records per second of pyflink-thread",
    ]


def test_latency_is_compared_with_the_best_mode() -> None:
    rivals = [_latency("penstock", "penstock", 10.0), _latency("spark-sql", "spark", 400.0)]
    slow = _latency("spark-tws", "spark", 2_000.0)
    lines = report.table([*rivals, slow]).splitlines()
    assert lines[1:3] == [
        "  system       p50 ms    p99 ms  p99.9 ms    max ms  spread of p50  records",
        "  penstock      10.00     20.00     30.00     40.00              -    1,000",
    ]
    assert lines[-1] == "  penstock's p50 is 0.025 of spark-sql's"


def test_a_failed_system_is_shown_with_its_reason() -> None:
    failed = Measurement("count-1k", "pyflink-thread", "pyflink", 100, errors=["exit code 1; it printed:\nboom"])
    assert report.table([THREE[0], failed]).splitlines()[-1].endswith("exit code 1; it printed:")
    assert report.failures([failed]) == "count-1k on pyflink-thread: exit code 1; it printed:\nboom"


def test_nothing_is_compared_where_penstock_failed() -> None:
    failed = Measurement("count-1k", "penstock", "penstock", 1_000, errors=["exit code 1"])
    assert report.comparisons([THREE[0], failed]) == []


def test_settings_are_listed_once_per_system() -> None:
    assert report.settings([THREE[0], THREE[0]]) == "handwritten: python 3, mode handwritten"


def test_the_cause_is_picked_from_a_java_trace() -> None:
    log = "An error occurred\n\tat a.b(C.java)\nCaused by: one\n\tat d.e(F.java)\nCaused by: two\n\t... 5 more\n"
    assert telling_lines(log) == "Caused by: one\nCaused by: two"


def test_the_end_is_picked_from_a_python_log() -> None:
    assert telling_lines("\n".join(str(line) for line in range(20))).splitlines()[0] == "8"


def test_the_machines_folders_are_taken_out() -> None:
    root = Path(suite.__file__).parent.parent
    assert telling_lines(f'File "{root}/benchmarks/program.py", line 7') == 'File "./benchmarks/program.py", line 7'


def test_a_document_is_written_where_asked(tmp_path: Path) -> None:
    report.write(tmp_path / "history" / "x.json", {"commit": "abc"})
    assert (tmp_path / "history" / "x.json").read_text() == '{\n "commit": "abc"\n}\n'
