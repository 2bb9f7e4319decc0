"""The keyed job of the checkpoint benchmarks: a count beside a payload per key, and a log of how it goes.

Each keyed subtask writes lines of JSON: how many records it has processed by when, and for each checkpoint when its
function was asked for its state, when the next record came and when the checkpoint was complete. Times are of the
monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    JobClient,
    JobStatus,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    ValueStateDescriptor,
)

_EVERY = 1 << 13
_SECOND = 1_000_000_000
_STRIDE = 7_368_787
"""A prime, so that neighbouring numbers have keys far apart."""


class KeyOfNumber(MapFunction):
    """Gives the first records of a subtask every key once, and later ones the keys that change."""

    def __init__(self, keys: int, changing: int | None = None) -> None:
        self._keys = keys
        self._changing = keys if changing is None else changing
        self._seen = 0

    def map(self, value: int) -> int:
        self._seen += 1
        return value * _STRIDE % (self._keys if self._seen <= self._keys else self._changing)


class CountWithPayload(KeyedProcessFunction[int, int, int], CheckpointedFunction, CheckpointListener):
    """Keeps ``(count, payload)`` for each key and writes the log."""

    def __init__(self, directory: str, payload: int) -> None:
        self._directory = directory
        self._payload = payload

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        pass

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("kept"))
        self._log = (Path(self._directory) / f"{runtime_context.get_index_of_this_subtask()}.jsonl").open("a")
        self._records = 0
        self._asked: tuple[int, int] | None = None

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        if self._asked is not None:
            checkpoint, asked = self._asked
            self._asked = None
            self._write(checkpoint=checkpoint, asked=asked, resumed=time.monotonic_ns())
        found = self._state.value()
        self._state.update((1, f"{value:0{self._payload}d}") if found is None else (found[0] + 1, found[1]))
        self._records += 1
        if self._records % _EVERY == 0:
            self._write(records=self._records, at=time.monotonic_ns())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._asked = context.get_checkpoint_id(), time.monotonic_ns()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._write(checkpoint=checkpoint_id, complete=time.monotonic_ns())

    def close(self) -> None:
        self._log.close()

    def _write(self, **entry: int) -> None:
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()


@dataclass(frozen=True)
class CheckpointTimes:
    """How long one checkpoint took in one subtask, in milliseconds."""

    checkpoint: int
    stopped: float
    """From the request for state to the next record: the synchronous part, and waiting for input."""
    total: float
    """From the request for state to the completion of the checkpoint."""


class JobLog:
    """Reads what the subtasks have written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def entries(self) -> list[list[dict[str, Any]]]:
        """Returns the entries of each subtask; a line that is being written is left out."""
        texts = [path.read_text() for path in sorted(self._directory.glob("*.jsonl"))]
        return [[json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")] for text in texts]

    def records(self) -> int:
        """Returns how many records have been processed, a little behind."""
        counts = ([entry["records"] for entry in each if "records" in entry] for each in self.entries())
        return sum(each[-1] for each in counts if each)

    def rate(self, start: int, end: int) -> float:
        """Returns the records per second between two moments, in nanoseconds."""
        subtasks = [[(entry["at"], entry["records"]) for entry in each if "at" in entry] for each in self.entries()]
        return sum(_at(points, end) - _at(points, start) for points in subtasks) / ((end - start) / _SECOND)

    def checkpoints(self, start: int, end: int) -> list[CheckpointTimes]:
        """Returns the checkpoints of each subtask that began between two moments."""
        found = []
        for entries in self.entries():
            complete = {entry["checkpoint"]: entry["complete"] for entry in entries if "complete" in entry}
            for entry in entries:
                if "asked" in entry and start <= entry["asked"] <= end and entry["checkpoint"] in complete:
                    stopped = (entry["resumed"] - entry["asked"]) / 1e6
                    total = (complete[entry["checkpoint"]] - entry["asked"]) / 1e6
                    found.append(CheckpointTimes(entry["checkpoint"], stopped, total))
        return found


def wait(client: JobClient, seconds: float) -> None:
    """Lets a job run for some seconds; if it ends, that is an error."""
    time.sleep(seconds)
    if client.get_job_status().result() in (JobStatus.FAILED, JobStatus.FINISHED, JobStatus.CANCELED):
        client.get_job_execution_result().result()
        message = "the job has ended too early"
        raise RuntimeError(message)


def _at(points: list[tuple[int, int]], moment: int) -> float:
    """Returns how many records were processed at a moment, between two points on a straight line."""
    for (before, fewer), (after, more) in itertools.pairwise(points):
        if before <= moment <= after:
            return fewer + (more - fewer) * (moment - before) / (after - before)
    return points[-1][1]
