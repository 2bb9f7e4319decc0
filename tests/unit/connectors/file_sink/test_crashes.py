"""Wherever the process is killed: each record is in one finished file, and no other file is left."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner, BucketContext
from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.files.sink.part_storage import LocalPartStorage
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.files.sink.sink import FileSink
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory, Encoder
from tests.unit.connectors.file_sink.faulty_storage import CopyingStorage, FaultyStorage, Fuse, Killed
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun, finished, names


@pytest.fixture(autouse=True, scope="module")
def _fast_disk() -> Iterator[None]:
    """Processes are killed here, the machine stays on: nothing has to reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: None)
        yield


class Odd(BucketAssigner[int]):
    def get_bucket_id(self, element: int, context: BucketContext) -> str:
        return "odd" if element % 2 else "even"


class NumberWriter(BulkWriter[int]):
    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.numbers: list[int] = []

    def add_element(self, element: int) -> None:
        self.numbers.append(element)

    def flush(self) -> None:
        self.stream.write("".join(f"{number}\n" for number in self.numbers).encode())
        self.numbers = []

    def finish(self) -> None:
        self.stream.write(b"")


class NumberWriterFactory(BulkWriterFactory[int]):
    def create(self, stream: Any) -> BulkWriter[int]:
        return NumberWriter(stream)


def sink(base: Path, kind: str) -> FileSink:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).set_size_threshold(20).build()
    if kind == "bulk":
        builder: Any = FileSink.for_bulk_format(str(base), NumberWriterFactory())
    else:
        builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
        builder.with_rolling_policy(RollingPolicy.default_rolling_policy(9, 3000, 2000))
    if kind == "compacted":
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    return builder.with_bucket_assigner(Odd()).with_bucket_check_interval(1000).build()


class Job:
    """A source that repeats what no checkpoint covers, and a sink; the process dies at any file operation."""

    def __init__(self, base: Path, kind: str, parallelism: int) -> None:
        self.base = base
        self.kind = kind
        self.fuse = Fuse()
        self.storages: list[FaultyStorage] = []
        self.next_number = [0] * parallelism
        self.covered = {0: list(self.next_number)}
        self.run = FileSinkRun(sink(base, kind), parallelism, storage=self.storage)

    def storage(self) -> tuple[Any, str]:
        local = LocalPartStorage()
        storage = FaultyStorage(CopyingStorage(local, self.fuse) if self.kind == "copied" else local, self.fuse)
        self.storages.append(storage)
        return storage, str(self.base)

    def step(self, action: str, amount: int = 0) -> bool:
        """Do something, and return whether the process has survived it."""
        try:
            getattr(self, action)(amount)
        except Killed:
            return False
        return True

    def write(self, amount: int) -> None:
        for subtask in range(self.run.parallelism):
            first = self.next_number[subtask] + 1_000_000 * subtask
            self.run.write(*range(first, first + amount), subtask=subtask)
            self.next_number[subtask] += amount

    def wait(self, seconds: int) -> None:
        self.run.advance_to(self.run.now + seconds * 1000)

    def checkpoint(self, end_of_input: int) -> None:
        number = self.run.snapshot(end_of_input=bool(end_of_input))
        self.covered[number] = list(self.next_number)
        self.run.commit()

    def restart(self, _: int) -> None:
        """Go on from the last complete checkpoint."""
        self.bury()
        self.next_number = list(self.covered[max(self.covered)])
        self.run.restart()

    def bury(self) -> None:
        """Let nothing of a dead process write any more; what it had in its buffers may or may not arrive."""
        for storage in self.storages:
            for stream in storage.streams:
                if not stream.closed:
                    stream.abandon()
        self.storages.clear()
        self.run.writers = []

    def check(self) -> None:
        found = finished(self.base)
        assert sorted(found) == names(self.base), "an unfinished file is left"
        for subtask, amount in enumerate(self.next_number):
            for bucket in ("even", "odd"):
                parts = sorted(
                    (int(match[1]), name)
                    for name in found
                    if (match := re.fullmatch(rf"{bucket}/(?:compacted-)?part-{subtask}-(\d+)", name))
                )
                written = [int(line) for _, name in parts for line in found[name].splitlines()]
                rest = 0 if bucket == "even" else 1
                assert written == [each + 1_000_000 * subtask for each in range(amount) if each % 2 == rest]


KINDS = ["row", "bulk", "compacted", "copied"]
STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 9)),
    st.tuples(st.just("wait"), st.integers(1, 3)),
    st.tuples(st.just("checkpoint"), st.just(0)),
    st.tuples(st.just("restart"), st.just(0)),
)


@pytest.mark.parametrize("kind", KINDS)
@given(
    steps=st.lists(st.tuples(STEPS, st.none() | st.integers(0, 12)), max_size=12),
    kills=st.lists(st.integers(0, 8), max_size=3),
    parallelism=st.integers(1, 2),
)
@settings(max_examples=80, deadline=None)
def test_any_sequence_of_steps_and_kills(kind, steps, kills, parallelism):
    with tempfile.TemporaryDirectory() as base:
        job = Job(Path(base), kind, parallelism)
        for (action, amount), job.fuse.left in [*steps, (("write", 3), None), (("checkpoint", 1), None)]:
            is_alive = job.step(action, amount)
            while not is_alive:
                # The first attempts to start again may be killed as well.
                job.fuse.left = kills.pop() if kills else None
                is_alive = job.step("restart")
        job.bury()
        job.check()


PROGRAM = [
    ("write", 7),
    ("checkpoint", 0),
    ("write", 6),
    ("wait", 2),
    ("checkpoint", 0),
    ("write", 2),
    ("checkpoint", 1),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again_after", [None, 0, 1, 2, 3, 5])
def test_killed_at_every_file_operation_and_again_while_it_starts(tmp_path, kind, again_after):
    survived, killed_after = False, 0
    while not survived:
        survived = runs_to_its_end(Job(tmp_path / str(killed_after), kind, 1), killed_after, again_after)
        killed_after += 1
    assert killed_after > 25, "the program has more file operations than that"


def runs_to_its_end(job: Job, killed_after: int, again_after: int | None) -> bool:
    """Run the program, killed once while it runs and once while it starts again; return whether it was not killed."""
    job.fuse.left = killed_after
    survived = True
    for action, amount in PROGRAM:
        is_alive = job.step(action, amount)
        if not is_alive:
            survived = False
            job.fuse.left = again_after
            while not job.step("restart"):
                pass
            job.fuse.left = None
            if action == "checkpoint":
                job.step(action, amount)
    job.bury()
    job.check()
    return survived
