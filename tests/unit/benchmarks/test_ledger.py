"""What runs leave behind, and how it is added up."""

import json
from pathlib import Path

import pytest

from benchmarks import ledger


def _leave(folder: Path, name: str, entry: dict[str, object]) -> None:
    (folder / name).write_text(json.dumps(entry))


def test_a_run_lasts_from_the_first_entry_to_the_last_exit(tmp_path: Path) -> None:
    _leave(tmp_path, "entry-1.json", {"at": 5_000_000_000})
    _leave(tmp_path, "entry-2.json", {"at": 4_000_000_000})
    _leave(tmp_path, "exit-1.json", {"count": 2, "sum": 10, "last": 6_000_000_000})
    _leave(tmp_path, "exit-2.json", {"count": 3, "sum": 20, "last": 6_500_000_000})
    reading = ledger.read(str(tmp_path))
    assert (reading.seconds, reading.results, reading.total) == (2.5, 5, 30)


def test_delays_of_all_sinks_are_ordered_together(tmp_path: Path) -> None:
    _leave(tmp_path, "delays-1.json", {"ns": [3_000_000, 1_000_000]})
    _leave(tmp_path, "delays-2.json", {"ns": [2_000_000]})
    assert ledger.read(str(tmp_path)).delays_ms == (1.0, 2.0, 3.0)


def test_percentiles_are_values_that_occurred() -> None:
    values = tuple(float(value) for value in range(1, 101))
    assert [ledger.percentile(values, share) for share in (0.5, 0.99, 0.999, 1.0)] == [50.0, 99.0, 100.0, 100.0]


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="left no delays"):
        ledger.percentile((), 0.5)


def test_a_tally_counts_single_results_and_batches(tmp_path: Path) -> None:
    tally = ledger.Tally(str(tmp_path), every=1)
    tally.add(4)
    tally.add_many([5, 6])
    tally.close()
    tally.close()
    reading = ledger.read(str(tmp_path))
    assert (reading.results, reading.total) == (3, 15)


def test_records_of_the_settling_time_leave_no_delay(tmp_path: Path) -> None:
    delays = ledger.Delays(str(tmp_path))
    delays.add(0)
    delays.add(1)
    delays.close()
    assert len(ledger.read(str(tmp_path)).delays_ms) == 1
