"""The results that every system is held against."""

import pytest

from benchmarks import expected, workload
from benchmarks.expected import checks
from benchmarks.workload import EPOCH_MS, mark


def test_running_counts_of_a_key_sum_up() -> None:
    # 2,500 numbers over 1,000 keys: 500 keys three times (1 + 2 + 3), 500 keys twice (1 + 2).
    assert checks("count-1k", 2_500, 2) == {"results": 2_500, "sum": 500 * 6 + 500 * 3}


def test_running_counts_with_fewer_records_than_keys_are_all_one() -> None:
    assert checks("count-1m", 40, 2) == {"results": 40, "sum": 40}


def test_word_counts_follow_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "text", lambda: ("a b", "a a"))
    # Three lines: "a b", "a a", "a b": a is counted 1..4, b 1..2.
    assert checks("words", 30, 1) == {"results": 6, "sum": 10 + 3}


def _with_events(monkeypatch: pytest.MonkeyPatch, events: list[workload.Event]) -> None:
    monkeypatch.setattr(workload, "Events", lambda job, records, parallelism: events.__getitem__)


def test_tumbling_counts_by_key_and_window(monkeypatch: pytest.MonkeyPatch) -> None:
    base = EPOCH_MS - EPOCH_MS % 10_000
    _with_events(monkeypatch, [(7, base, 1), (7, base + 9_999, 1), (7, base + 10_000, 1), (8, base + 5, 1)])
    total = mark(7, base, 2) + mark(7, base + 10_000, 1) + mark(8, base, 1)
    assert checks("tumbling", 4, 1) == {"results": 3, "sum": total}


def test_a_record_is_in_every_sliding_window_that_covers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    base = EPOCH_MS - EPOCH_MS % 5_000
    _with_events(monkeypatch, [(1, base + 3, 10)])
    starts = [base - 5_000 * back for back in range(12)]
    assert checks("sliding", 1, 1) == {"results": 12, "sum": sum(mark(1, start, 10) for start in starts)}


def test_sessions_break_where_the_silence_exceeds_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    # Out of order; 1,000 apart still touch, 1,001 apart do not.
    _with_events(monkeypatch, [(5, 1_000, 0), (5, 0, 0), (5, 2_001, 0)])
    assert checks("sessions", 3, 1) == {"results": 2, "sum": mark(5, 0, 2) + mark(5, 2_001, 1)}


def test_an_unknown_job_is_refused() -> None:
    with pytest.raises(ValueError, match="no job called 'nonsense'"):
        expected.checks("nonsense", 10, 1)
