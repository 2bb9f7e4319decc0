"""The jobs on Bytewax, with p workers as threads of one process or as processes of their own."""

from __future__ import annotations

import multiprocessing
import platform
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main

from benchmarks import workload
from benchmarks.ledger import Delays, Tally, stamp_entry
from benchmarks.nexmark import CLOCK_JOB, QUERIES
from benchmarks.pacing import Schedule
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems import bytewax_nexmark
from benchmarks.systems.bytewax_nexmark import EPOCH

BATCH = 1_000
"""Numbers a source hands over at once."""

WAIT = timedelta(seconds=60)
"""How far a key's watermark trails: Bytewax has no watermark per source, so it must cover how far they drift apart."""


class NumberPartition(StatefulSourcePartition[int, None]):
    """Emits one source's numbers in batches."""

    def __init__(self, part: range, ledger: str) -> None:
        self._part, self._next, self._ledger = part, part.start, ledger

    def next_batch(self) -> Iterable[int]:
        low = self._next
        if low == self._part.start:
            stamp_entry(self._ledger)
        if low >= self._part.stop:
            raise StopIteration
        self._next = min(low + BATCH, self._part.stop)
        return range(low, self._next)

    def snapshot(self) -> None:
        return None


class TickingPartition(StatefulSourcePartition[tuple[int, int], None]):
    """Emits each record when it is due."""

    def __init__(self, assignment: Assignment, part: int) -> None:
        share = assignment.parallelism
        self._schedule = Schedule(parallelism=share, settle=assignment.settle, seconds=assignment.seconds)
        self._number, self._share, self._part = 0, share, part

    def next_awake(self) -> datetime:
        now = datetime.now(UTC)
        return now + timedelta(microseconds=self._schedule.ahead(self._number) / 1_000)

    def next_batch(self) -> Iterable[tuple[int, int]]:
        if self._number >= self._schedule.records:
            raise StopIteration
        record = (self._number * self._share + self._part, self._schedule.due(self._number))
        self._number += 1
        return [record]

    def snapshot(self) -> None:
        return None


class Source(FixedPartitionedSource[Any, None]):
    """One partition per worker."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._parts = workload.ranges(assignment.units, assignment.parallelism)

    def list_parts(self) -> list[str]:
        return [str(part) for part in range(self._assignment.parallelism)]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> Any:
        if self._assignment.is_latency:
            return TickingPartition(self._assignment, int(for_part))
        return NumberPartition(self._parts[int(for_part)], self._assignment.ledger)


class SinkPartition(StatelessSinkPartition[Any]):
    """Counts and sums the results of one worker, or notes their delays."""

    def __init__(self, assignment: Assignment) -> None:
        self._job = assignment.job
        self._tally = Tally(assignment.ledger)
        self._delays = Delays(assignment.ledger)

    def write_batch(self, items: list[Any]) -> None:
        if self._job in workload.EXCHANGES:
            for _, created in items:
                self._delays.add(created)
        elif self._job == CLOCK_JOB:
            for digest, last in items:
                self._tally.add_at(digest, last)
        elif self._job in ("words", workload.CHAIN_JOB) or self._job in workload.COUNT_KEYS:
            self._tally.add_many([count for _, count in items])
        else:
            self._tally.add_many(items)

    def close(self) -> None:
        self._tally.close()
        self._delays.close()


class Sink(DynamicSink[Any]):
    """One counting sink per worker."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def build(self, step_id: str, worker_index: int, worker_count: int) -> SinkPartition:
        return SinkPartition(self._assignment)


def _flow(assignment: Assignment) -> Dataflow:
    flow = Dataflow(assignment.job.replace("-", "_"))
    stream: Any = op.input("source", flow, Source(assignment))
    if assignment.is_latency:
        for exchange in range(workload.EXCHANGES[assignment.job]):
            wide = 2**exchange
            keyed = op.key_on(
                f"key{exchange}", stream, lambda record, wide=wide: str(record[0] % workload.LATENCY_KEYS // wide)
            )
            counted = op.stateful_map(f"count{exchange}", keyed, lambda count, record: ((count or 0) + 1, record))
            stream = op.key_rm(f"record{exchange}", counted)
    elif assignment.job == "words":
        lines = workload.text()
        cycle = len(lines)
        stream = op.flat_map("words", stream, lambda number: lines[number % cycle].split())
        stream = _running_count(op.key_on("key", stream, lambda word: word))
    elif assignment.job in workload.COUNT_KEYS:
        keys = workload.COUNT_KEYS[assignment.job]
        numbers = op.map("map", stream, lambda number: number % keys)
        stream = _running_count(op.key_on("key", numbers, str))
    elif assignment.job == workload.CHAIN_JOB:
        stream = bytewax_nexmark.chain(stream)
    elif assignment.job == workload.TIMER_JOB:
        stream = bytewax_nexmark.timers(assignment, stream, WAIT)
    elif assignment.job in QUERIES:
        stream = bytewax_nexmark.query(assignment, stream, WAIT)
    else:
        stream = _windows(assignment, stream)
    op.output("sink", stream, Sink(assignment))
    return flow


def _running_count(keyed: Any) -> Any:
    def count(state: int | None, _: Any) -> tuple[int, int]:
        state = (state or 0) + 1
        return state, state

    return op.stateful_map("count", keyed, count)


def _windows(assignment: Assignment, numbers: Any) -> Any:
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    keyed = op.key_on("key", op.map("event", numbers, event), lambda record: str(record[0]))
    clock = win.EventClock(lambda record: EPOCH + timedelta(milliseconds=record[1]), WAIT)
    length = timedelta(milliseconds=workload.TUMBLING_MS)
    windower: Any = win.TumblingWindower(length=length, align_to=EPOCH)
    if assignment.job == "sliding":
        length = timedelta(milliseconds=workload.SLIDING_MS)
        windower = win.SlidingWindower(length=length, offset=timedelta(milliseconds=workload.SLIDE_MS), align_to=EPOCH)
    elif assignment.job == "sessions":
        windower = win.SessionWindower(gap=timedelta(milliseconds=workload.SESSION_GAP_MS))

    summing = assignment.job == "sliding"

    def fold(state: tuple[int, int, int] | None, record: workload.Event) -> tuple[int, int, int]:
        """Keeps the first event time too: the window's start is not given to a fold's result."""
        key, time, value = record
        gain = value if summing else 1
        return (key, time, gain) if state is None else (key, min(state[1], time), state[2] + gain)

    def merge(one: Any, other: Any) -> Any:
        if one is None or other is None:
            return one or other
        return one[0], min(one[1], other[1]), one[2] + other[2]

    windowed = win.fold_window("window", keyed, clock, windower, lambda: None, fold, merge)

    def digest(keyed_result: tuple[str, tuple[int, tuple[int, int, int]]]) -> int:
        _, (window, (key, first, value)) = keyed_result
        if assignment.job == "tumbling":
            first -= first % workload.TUMBLING_MS
        elif assignment.job == "sliding":
            first = window * workload.SLIDE_MS
        return workload.mark(key, first, value)

    return op.map("digest", windowed.down, digest)


def run(assignment: Assignment) -> Outcome:
    """Runs one job and leaves its stamps in the ledger."""
    if assignment.variant == "threads":
        cluster_main(_flow(assignment), [], 0, worker_count_per_proc=assignment.parallelism)
    else:
        _run_processes(assignment)
    settings = {"workers": f"{assignment.parallelism} {assignment.variant}", "source batch": str(BATCH)}
    versions = {"python": platform.python_version(), "bytewax": version("bytewax")}
    return Outcome(settings=settings, versions=versions)


def _run_processes(assignment: Assignment) -> None:
    """Starts the workers as a cluster of processes on this machine."""
    addresses = [f"127.0.0.1:{_free_port()}" for _ in range(assignment.parallelism)]
    spawning = multiprocessing.get_context("spawn")
    workers = [
        spawning.Process(target=_work, args=(assignment, addresses, index)) for index in range(assignment.parallelism)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        message = "a Bytewax process failed; its message is above"
        raise RuntimeError(message)


def _work(assignment: Assignment, addresses: list[str], index: int) -> None:
    cluster_main(_flow(assignment), addresses, index)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


if __name__ == "__main__":
    main(run)
