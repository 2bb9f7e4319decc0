"""The stateless chain on penstock in batch form: NumPy sees some thousand numbers at once, up to the count."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.ledger import Tally, stamp_entry
from benchmarks.program import Assignment
from benchmarks.systems.penstock_steps import Sink, numbers
from penstock import FilterBatchesFunction, MapBatchesFunction, RuntimeContext, StreamExecutionEnvironment


def _celsius(values: Any) -> Any:
    return (values % 977 - 32) * 5 // 9


class Wanted(FilterBatchesFunction):
    """Drops what the two filters of the chain drop."""

    def __init__(self, ledger: str) -> None:
        self._ledger, self._fresh = ledger, True

    def filter_batches(self, values: Any) -> Any:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return (values % 977 % 10 != 0) & (_celsius(values) > 0)


class Weighted(MapBatchesFunction):
    """Does what the three maps of the chain do."""

    def map_batches(self, values: Any) -> Any:
        return _celsius(values) * (values * 7_919 % 1_000 + 1)


class CountAll(FilterBatchesFunction):
    """Counts and sums a batch and lets nothing through: the sink of a program that needs none."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger)

    def filter_batches(self, values: Any) -> Any:
        self._tally.add_many(values.tolist())
        return np.zeros(len(values), dtype=bool)

    def close(self) -> None:
        self._tally.close()


def build(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Adds the steps of the chain."""
    (
        numbers(environment, assignment.records)
        .filter_batches(Wanted(assignment.ledger), form="numpy")
        .map_batches(Weighted(), form="numpy")
        .filter_batches(CountAll(assignment.ledger), form="numpy")
        .add_sink(Sink(assignment.ledger, marks=False))
    )
