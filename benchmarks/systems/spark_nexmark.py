"""The Nexmark jobs and the stateless chain on Structured Streaming, as far as they need no event time.

Timers and windows of event time are left out: the last ones of a bounded input do not fire.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor

from benchmarks import nexmark, workload
from benchmarks.ledger import Tally, stamp_entry
from benchmarks.nexmark import AUCTION, PERSON
from benchmarks.program import Assignment

JOBS = (*nexmark.STATELESS, "q3", workload.CHAIN_JOB)

_INTEREST = "person long, kind long, id long, name string, city string, state string"
_SUGGESTION = "name string, city string, state string, id long"


class Suggest(StatefulProcessor):
    """Query 3: keeps persons for ever, and auctions until their seller is known."""

    def init(self, handle: Any) -> None:
        self._person = handle.getValueState("person", "name string, city string, state string")
        self._waiting = handle.getListState("waiting", "id long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        person = self._person.get() if self._person.exists() else None
        auctions = []
        for row in rows:
            if row.kind == AUCTION:
                auctions.append((row.id,))
            else:
                person = (row.name, row.city, row.state)
                self._person.update(person)
        if person is None:
            self._waiting.appendList(auctions)
            return
        if self._waiting.exists():
            auctions += [(row[0],) for row in self._waiting.get()]
            self._waiting.clear()
        for (auction,) in auctions:
            yield Row(name=person[0], city=person[1], state=person[2], id=auction)

    def close(self) -> None:
        """Has nothing to release."""


def results(numbers: DataFrame, assignment: Assignment) -> DataFrame:
    """Adds the steps of a job, up to and including the counting sink."""
    if assignment.job == "q3":
        found = numbers.select("value").mapInArrow(_interesting(assignment), _INTEREST)
        suggestions = found.groupBy("person").transformWithState(Suggest(), _SUGGESTION, "update", "none")
        return suggestions.mapInArrow(_digesting(assignment), "n long")
    return numbers.select("value").mapInArrow(_stateless(assignment), "n long")


def _stateless(assignment: Assignment) -> Any:
    """Calls the functions of the job row by row, from the number to the sink, in one Python step."""
    each = _record_function(assignment)
    ledger = assignment.ledger

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sink, fresh = Tally(ledger), True
        for batch in batches:
            if fresh:
                fresh = False
                stamp_entry(ledger)
            digests = [found for found in map(each, batch.column(0).to_pylist()) if found is not None]
            if digests:
                sink.add_many(digests)
        sink.close()
        return iter(())

    return run


def _record_function(assignment: Assignment) -> Callable[[int], int | None]:
    if assignment.job == workload.CHAIN_JOB:

        def chain(number: int) -> int | None:
            record = workload.reading(number)
            if not workload.is_valid(record):
                return None
            record = workload.converted(record)
            return workload.weighted(record)[1] if workload.is_high(record) else None

        return chain
    event = nexmark.Auctions(assignment.records, assignment.parallelism)
    digest = nexmark.DIGESTS[assignment.job]
    keep = nexmark.is_selected if assignment.job == "q2" else nexmark.is_bid
    make = {"q0": nexmark.passed, "q1": nexmark.converted, "q2": nexmark.selected}[assignment.job]

    def query(number: int) -> int | None:
        happening = event(number)
        return int(digest(make(happening))) if keep(happening) else None

    return query


def _interesting(assignment: Assignment) -> Any:
    event = nexmark.Auctions(assignment.records, assignment.parallelism)
    ledger = assignment.ledger

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fresh = True
        for batch in batches:
            if fresh:
                fresh = False
                stamp_entry(ledger)
            found = filter(nexmark.is_local_interest, map(event, batch.column(0).to_pylist()))
            rows = [
                (each[2], PERSON, each[2], *each[3:6]) if each[0] == PERSON else (each[3], AUCTION, each[2], "", "", "")
                for each in found
            ]
            names = ["person", "kind", "id", "name", "city", "state"]
            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            kinds = [pa.int64()] * 3 + [pa.string()] * 3
            arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names)

    return run


def _digesting(assignment: Assignment) -> Any:
    digest, ledger = nexmark.DIGESTS[assignment.job], assignment.ledger

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sink = Tally(ledger)
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            digests = [digest(row) for row in rows]
            if digests:
                sink.add_many(digests)
                sink.last = time.monotonic_ns()
        sink.close()
        return iter(())

    return run
