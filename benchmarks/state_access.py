"""What an access to keyed state costs, against a plain dictionary and against raw RocksDB.

``python -m benchmarks.state_access`` puts the same records through the operator of a ``KeyedProcessFunction`` whose
functions differ only in where they keep their numbers. What the way to the function costs is measured with a function
that keeps nothing, and is taken off both sides: the ratios are of the accesses alone. Times are processor time of the
thread, so that other work on the machine counts for little; contestants take turns, and ratios are formed within a
turn.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import state_history
from benchmarks.state_functions import (
    AppendInDict,
    AppendInRocksDB,
    AppendInState,
    CountInDict,
    CountInRocksDB,
    CountInState,
    Nothing,
    PutInDict,
    PutInRocksDB,
    PutInState,
    Record,
)
from penstock import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from penstock.foundation.clock import SystemClock
from penstock.graph import steps
from penstock.runtime.task.build import build_operator
from penstock.runtime.task.context import OperatorContext, SubtaskInfo
from penstock.runtime.task.output import Output
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.statestore.backend import KeyContext
from penstock.statestore.open_backend import open_backend
from penstock.statestore.rocksdb.layout import Layout
from penstock.statestore.snapshot_format import StateInfo
from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.settings.execution import ExecutionConfig

HEAP_BAR = 2.0
ROCKSDB_BAR = 3.0
_KEY_GROUPS = 128
_RUN = 1000
_MEMBERS = 16


class Contestant:
    """One function in its operator, ready to take the records."""

    def __init__(self, function: Any, description: StateBackend, stack: ExitStack) -> None:
        clock = SystemClock()
        keys = KeyContext()
        backend = open_backend(description, keys, operator="access", max_parallelism=_KEY_GROUPS, now=clock.now)
        stack.callback(backend.close)
        self._operator = build_operator(steps.ProcessStep(function=function, key=lambda record: record[0]))
        context = OperatorContext(
            info=SubtaskInfo(name="access", index=0, parallelism=1, max_parallelism=_KEY_GROUPS),
            operator_id="access",
            clock=clock,
            processing_time=ProcessingTimeService(clock),
            metrics=MetricGroup(clock.now),
            execution_config=ExecutionConfig(),
            keys=keys,
            state=backend,
        )
        self._operator.setup(context, Output(()))
        self._operator.open()

    def nanoseconds(self, runs: list[list[Record]]) -> float:
        """Puts all runs through the operator and returns what a record took."""
        process = self._operator.process
        started = time.thread_time_ns()
        for run in runs:
            process(run, None)
        return (time.thread_time_ns() - started) / sum(map(len, runs))


def compare(contestants: dict[str, Contestant], runs: list[list[Record]], turns: int) -> dict[str, list[float]]:
    """Returns the nanoseconds per record of each contestant in each turn, after one turn that does not count."""
    for contestant in contestants.values():
        contestant.nanoseconds(runs)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(turns):
        for name, contestant in contestants.items():
            times[name].append(contestant.nanoseconds(runs))
    return times


def records_of(keys: int, count: int) -> list[list[Record]]:
    """Returns records with random keys, in runs; equal for equal arguments."""
    layout = Layout("access", _KEY_GROUPS)
    state = layout.declare(StateInfo("count", "value"))
    chosen = random.Random(7)

    def record(number: int) -> Record:
        key = f"key-{chosen.randrange(keys)}"
        group, encoded, _ = layout.key(key)
        return key, group + state + encoded + layout.namespace(None), number % _MEMBERS

    records = [record(number) for number in range(count)]
    return [records[start : start + _RUN] for start in range(0, count, _RUN)]


_PAIRS: list[tuple[str, str, str, float | None]] = [
    ("heap: value().. update(..)", "state", "dict", HEAP_BAR),
    ("heap: list add", "list state", "dict of lists", None),
    ("heap: map put", "map state", "dict of dicts", None),
    ("RocksDB: value().. update(..)", "RocksDB state", "rocksdict", ROCKSDB_BAR),
    ("RocksDB: list add", "RocksDB list state", "rocksdict lists", None),
    ("RocksDB: map put", "RocksDB map state", "rocksdict maps", None),
]


def main(arguments: list[str] | None = None) -> int:
    """Runs the comparison as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.state_access", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=50_000, help="per turn")
    parser.add_argument("--turns", type=int, default=21)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    runs = records_of(options.keys, options.records)
    heap: Callable[[], StateBackend] = HashMapStateBackend
    rocks: Callable[[], StateBackend] = EmbeddedRocksDBStateBackend
    with ExitStack() as stack, tempfile.TemporaryDirectory() as place:
        makers: dict[str, tuple[Callable[[], Any], Callable[[], StateBackend]]] = {
            "nothing": (Nothing, heap),
            "dict": (CountInDict, heap),
            "state": (CountInState, heap),
            "dict of lists": (AppendInDict, heap),
            "list state": (AppendInState, heap),
            "dict of dicts": (PutInDict, heap),
            "map state": (PutInState, heap),
            "rocksdict": (lambda: CountInRocksDB(f"{place}/values", _pickled()), heap),
            "RocksDB state": (CountInState, rocks),
            "rocksdict lists": (lambda: AppendInRocksDB(f"{place}/lists", _pickled()), heap),
            "RocksDB list state": (AppendInState, rocks),
            "rocksdict maps": (lambda: PutInRocksDB(f"{place}/maps", _pickled()), heap),
            "RocksDB map state": (PutInState, rocks),
        }
        contestants = {name: Contestant(make(), backend(), stack) for name, (make, backend) in makers.items()}
        times = compare(contestants, runs, options.turns)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, median in medians.items():
        print(f"{name:<20} {median:8.0f} ns per record, {median - medians['nothing']:8.0f} ns of them for the access")
    bars = [
        state_history.Bar.of(f"{title}, times {theirs}", _ratios(times, mine, theirs), most)
        for title, mine, theirs, most in _PAIRS
    ]
    settings = {"keys": options.keys, "records per turn": options.records, "turns": options.turns}
    return state_history.keep("state-access", bars, settings, {"ns per record": times}, options.output)


def _ratios(times: dict[str, list[float]], mine: str, theirs: str) -> list[float]:
    turns = zip(times[mine], times[theirs], times["nothing"], strict=True)
    return [(my - way) / (their - way) for my, their, way in turns]


def _pickled() -> bytes:
    return Layout("access", _KEY_GROUPS).dumps(1000)


if __name__ == "__main__":
    sys.exit(main())
