"""Latency: what is measured, what must hold, and that a record read late keeps its due time."""

from __future__ import annotations

import pytest

from benchmarks.latency import Run, settings, table, verdicts
from benchmarks.systems import penstock_latency
from benchmarks.systems.penstock_latency import DueReader

SECOND = 1_000_000_000


def _run(rate: int, checkpoint_millis: int, p50: float, p99: float) -> Run:
    return Run(rate, 1, checkpoint_millis, [{"p50": p50, "p99": p99, "p99.9": p99, "max": p99, "records": 1}])


def test_rates_exchanges_and_checkpoints_are_measured() -> None:
    found = {(run.rate, run.exchanges, run.checkpoint_millis) for run in settings(quick=False)}
    rates, exchanges = (1_000, 10_000, 50_000), (1, 2, 3)
    plain = {(rate, count, 0) for rate in rates for count in exchanges}
    assert found == plain | {(rate, 1, 1_000) for rate in rates}


def test_verdicts() -> None:
    runs = [_run(10_000, 0, 10.0, 40.0), _run(10_000, 1_000, 10.0, 120.0)]
    assert verdicts(runs) == [
        "p99 at 10,000/s through one exchange is 4.00 x its p50 (must be 5): True",
        "checkpoints every second raise p99 at 10,000/s 3.00 x (must be 2): False",
    ]
    assert table(runs).splitlines()[1].split()[-4:] == ["10.00", "40.00", "40.00", "40.00"]


def test_a_record_read_late_keeps_its_due_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100 * SECOND
    monkeypatch.setattr(penstock_latency.time, "monotonic_ns", lambda: now)
    reader = DueReader(0, SECOND // 10, SECOND // 5, SECOND)
    now += SECOND // 2
    # Five records are due; the first two belong to the time of settling and carry no time.
    assert reader.read(100) == (
        [(0, 0), (31, 0), (62, 100_200_000_000), (93, 100_300_000_000), (124, 100_400_000_000)],
        None,
    )
    assert reader.read(100) == ([], None)
    now += 2 * SECOND
    assert reader.read(100) is None
