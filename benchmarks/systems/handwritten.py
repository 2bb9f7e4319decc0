"""The limit: plain Python, p source processes and p keyed processes, joined by pipes of pickled batches.

This is what one would write by hand for exactly one job: no state interface, no timers in general, no recovery.
Whatever a streaming library costs on top of Python itself is the distance to this program.
"""

from __future__ import annotations

import multiprocessing
import pickle
import platform
import selectors
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from benchmarks.join_workload import JOINS, RULES_JOB
from benchmarks.nexmark import QUERIES
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems import handwritten_joins as joins
from benchmarks.systems import handwritten_nexmark as nexmark
from benchmarks.systems import handwritten_tasks as tasks
from benchmarks.workload import CHAIN_JOB, COUNT_KEYS, EXCHANGES, TIMER_JOB

BATCH = 4_000
"""Records per pickled batch and target: large enough that pickling and waking up cost little per record."""

_forking = multiprocessing.get_context("fork")


class Outbox:
    """The sending side of one process: one pipe per target."""

    def __init__(self, pipes: list[Connection]) -> None:
        """Takes the pipes in the order of the targets."""
        self._pipes = pipes

    def send(self, target: int, batch: object) -> None:
        """Sends a batch to one target; blocks while the pipe is full, which is the back-pressure."""
        self._pipes[target].send_bytes(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL))

    def close(self) -> None:
        """Tells every target that nothing more comes."""
        for target in range(len(self._pipes)):
            self.send(target, None)


class Inbox:
    """The receiving side of one process: batches from any of its channels as they arrive, until all have ended."""

    def __init__(self, pipes: list[Connection]) -> None:
        """Takes the pipes in the order of the senders."""
        self._selector = selectors.DefaultSelector()
        for channel, pipe in enumerate(pipes):
            self._selector.register(pipe, selectors.EVENT_READ, channel)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yields the channel and the batch."""
        while self._selector.get_map():
            for ready, _ in self._selector.select():
                pipe: Any = ready.fileobj
                batch = pickle.loads(pipe.recv_bytes())
                if batch is None:
                    self._selector.unregister(pipe)
                else:
                    yield ready.data, batch


Layer = list[Callable[..., None]]
"""What the processes of one layer run; each is called with its inbox and outbox as far as it has them."""


def run(assignment: Assignment) -> Outcome:
    """Runs one job and leaves its stamps in the ledger."""
    layers = _layers(assignment)
    everyone_ready = _forking.Barrier(sum(len(layer) for layer in layers))
    processes = []
    incoming: list[list[Connection]] = []
    for depth, layer in enumerate(layers):
        targets = len(layers[depth + 1]) if depth + 1 < len(layers) else 0
        grid = [[_forking.Pipe(duplex=False) for _ in range(targets)] for _ in layer]
        for index, task in enumerate(layer):
            channels: dict[str, object] = {}
            if incoming:
                channels["inbox"] = [row[index] for row in incoming]
            if targets:
                channels["outbox"] = [writer for _, writer in grid[index]]
            processes.append(_forking.Process(target=_begin, args=(task, channels, everyone_ready), daemon=True))
        incoming = [[reader for reader, _ in row] for row in grid]
    for process in processes:
        process.start()
    _join(processes)
    settings = {"batch": str(BATCH), "processes": str(len(processes)), "transport": "pipes of pickled batches"}
    return Outcome(settings=settings, versions={"python": platform.python_version()})


def _begin(task: Callable[..., None], channels: dict[str, Any], everyone_ready: Any) -> None:
    made: dict[str, object] = {}
    if "inbox" in channels:
        made["inbox"] = Inbox(channels["inbox"])
    outbox = Outbox(channels["outbox"]) if "outbox" in channels else None
    if outbox:
        made["outbox"] = outbox
    everyone_ready.wait()
    task(**made)
    if outbox:
        outbox.close()


def _join(processes: list[Any]) -> None:
    """Waits for all processes; one that fails ends the others, which would wait for it for ever."""
    running = {process.sentinel: process for process in processes}
    while running:
        for sentinel in wait(list(running)):
            process = running.pop(sentinel)
            process.join()
            if process.exitcode:
                for other in running.values():
                    other.terminate()
                message = f"a process of the hand-written program ended with code {process.exitcode}"
                raise RuntimeError(message)


def _layers(assignment: Assignment) -> list[Layer]:
    job, ledger, parallelism = assignment.job, assignment.ledger, assignment.parallelism
    parts = tasks.ranges(assignment.units, parallelism)
    if job in COUNT_KEYS:
        source = partial(tasks.number_source, COUNT_KEYS[job], parallelism, BATCH, ledger)
        return [[partial(source, part) for part in parts], [partial(tasks.count_task, ledger)] * parallelism]
    if job == "words":
        source = partial(tasks.word_source, parallelism, BATCH, ledger)
        return [[partial(source, part) for part in parts], [partial(tasks.count_task, ledger)] * parallelism]
    if job in EXCHANGES:
        source = partial(tasks.ticking_source, assignment, parallelism)
        middle: list[Layer] = [[partial(tasks.forwarding_task, parallelism)] * parallelism] * (EXCHANGES[job] - 1)
        sink: Layer = [partial(tasks.delay_task, ledger)] * parallelism
        return [[partial(source, part) for part in range(parallelism)], *middle, sink]
    if job in JOINS or job == RULES_JOB:
        return joins.layers(job, assignment.records, parallelism, BATCH, ledger)
    if job in QUERIES:
        return nexmark.layers(job, assignment.records, parallelism, BATCH, ledger)
    if job == CHAIN_JOB:
        return [[partial(tasks.chain_task, BATCH, ledger, part) for part in parts]]
    source = partial(tasks.event_source, job, assignment.records, parallelism, BATCH, ledger)
    return [[partial(source, part) for part in parts], [partial(_EVENT_TASKS[job], ledger, parallelism)] * parallelism]


_EVENT_TASKS: dict[str, Callable[..., None]] = {
    "tumbling": tasks.tumbling_task,
    "sliding": tasks.sliding_task,
    "sessions": tasks.session_task,
    TIMER_JOB: tasks.timer_task,
}


if __name__ == "__main__":
    main(run)
