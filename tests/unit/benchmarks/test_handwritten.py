"""The processes of the hand-written program, run in this one with lists instead of pipes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import expected, ledger, workload
from benchmarks.systems import handwritten_tasks as tasks
from benchmarks.workload import EPOCH_MS, mark, ranges


class Lists:
    """An outbox that keeps what is sent, per target."""

    def __init__(self, targets: int) -> None:
        self.sent: list[list[Any]] = [[] for _ in range(targets)]

    def send(self, target: int, batch: Any) -> None:
        self.sent[target].append(batch)


def _end() -> int:
    return 2**63 - 1


def test_numbers_reach_the_process_of_their_key(tmp_path: Path) -> None:
    outbox = Lists(2)
    tasks.number_source(3, 2, 2, str(tmp_path), range(7), outbox=outbox)
    # Keys 0 1 2 0 | 1 2 0: four numbers at a time for two targets, even keys to the first.
    assert outbox.sent == [[[0, 2, 0], [2, 0]], [[1], [1]]]


def test_running_counts_reach_the_sink(tmp_path: Path) -> None:
    tasks.count_task(str(tmp_path), inbox=[(0, ["a", "b", "a"]), (1, ["a"])])
    reading = ledger.read(str(tmp_path))
    assert (reading.results, reading.total) == (4, 1 + 1 + 2 + 3)


def test_a_window_waits_for_the_slowest_channel(tmp_path: Path) -> None:
    base = EPOCH_MS - EPOCH_MS % 10_000
    batches = [
        (0, ([(1, base + 1, 0)], base + 20_000)),
        (1, ([(1, base + 2, 0)], base + 9_998)),
        (1, ([(1, base + 3, 0)], base + 9_999)),
        (1, ([(1, base + 4, 0)], base + 20_000)),
    ]
    tasks.tumbling_task(str(tmp_path), 2, inbox=batches)
    reading = ledger.read(str(tmp_path))
    # The watermark passes the window's end with the third batch; the fourth record is late and dropped.
    assert (reading.results, reading.total) == (1, mark(1, base, 3))


def test_sliding_sums_are_emitted_once_per_window(tmp_path: Path) -> None:
    base = EPOCH_MS - EPOCH_MS % 5_000
    tasks.sliding_task(str(tmp_path), 1, inbox=[(0, ([(1, base, 10), (1, base + 5_000, 5)], _end()))])
    reading = ledger.read(str(tmp_path))
    both = [base - 5_000 * back for back in range(11)]
    total = sum(mark(1, start, 15) for start in both) + mark(1, base - 55_000, 10) + mark(1, base + 5_000, 5)
    assert (reading.results, reading.total) == (13, total)


def test_an_event_that_bridges_two_sessions_merges_them(tmp_path: Path) -> None:
    events = [(1, 10_000, 0), (1, 11_800, 0), (1, 10_900, 0), (1, 20_000, 0)]
    tasks.session_task(str(tmp_path), 1, inbox=[(0, (events, 15_000)), (0, ([], _end()))])
    reading = ledger.read(str(tmp_path))
    assert (reading.results, reading.total) == (2, mark(1, 10_000, 3) + mark(1, 20_000, 1))


def test_a_session_that_grew_is_emitted_at_its_new_end(tmp_path: Path) -> None:
    batches = [
        (0, ([(1, 10_000, 0), (1, 10_500, 0)], 11_200)),
        (0, ([(1, 11_400, 0)], 12_398)),
        (0, ([(1, 12_399, 0)], _end())),
    ]
    tasks.session_task(str(tmp_path), 1, inbox=batches)
    reading = ledger.read(str(tmp_path))
    assert (reading.results, reading.total) == (1, mark(1, 10_000, 4))


@pytest.mark.parametrize(
    ("job", "task"),
    [
        ("tumbling", tasks.tumbling_task),
        ("sliding", tasks.sliding_task),
        ("sessions", tasks.session_task),
        ("timers", tasks.timer_task),
    ],
)
def test_streamed_windows_equal_those_of_one_pass(job: str, task: Callable[..., None], tmp_path: Path) -> None:
    records, parallelism = 12_000, 2
    outboxes = [Lists(parallelism) for _ in range(parallelism)]
    for part, outbox in zip(ranges(records, parallelism), outboxes, strict=True):
        tasks.event_source(job, records, parallelism, 100, str(tmp_path), part, outbox=outbox)
    for target in range(parallelism):
        channels = [outbox.sent[target] for outbox in outboxes]
        inbox = [(channel, batch) for pair in zip(*channels, strict=True) for channel, batch in enumerate(pair)]
        task(str(tmp_path), parallelism, inbox=inbox)
    reading = ledger.read(str(tmp_path))
    assert {"results": reading.results, "sum": reading.total} == expected.checks(job, records, parallelism)


def test_words_reach_one_process_each(tmp_path: Path) -> None:
    outbox = Lists(2)
    tasks.word_source(2, 50, str(tmp_path), range(30), outbox=outbox)
    words = [[word for batch in batches for word in batch] for batches in outbox.sent]
    assert sum(map(len, words)) == 30 * workload.WORDS_PER_LINE
    assert not set(words[0]) & set(words[1])


def test_the_chain_drops_and_converts(tmp_path: Path) -> None:
    tasks.chain_task(100, str(tmp_path), range(40))
    reading = ledger.read(str(tmp_path))
    # Sensor and value of number n are 7919 n % 1000 and n; 34 to 39 are above freezing once converted, and valid.
    readings = [(7_919 * number % 1_000, (number - 32) * 5 // 9) for number in range(34, 40)]
    assert (reading.results, reading.total) == (6, sum(value * (sensor + 1) for sensor, value in readings))
