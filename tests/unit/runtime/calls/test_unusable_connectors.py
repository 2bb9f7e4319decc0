"""What sources and sinks of the program return and nobody can use is refused: with the step, the method, its line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock import (
    BucketAssigner,
    Committer,
    Encoder,
    FileSink,
    GlobalCommitter,
    Sink,
    SinkWriter,
    Source,
    SourceSplit,
    SplitReader,
    UserFunctionError,
    WatermarkStrategy,
)
from tests.unit.local_jobs import environment, run_locally
from tests.unit.runtime.calls.unusable_jobs import check, explained


class Reader(SplitReader):
    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers

    def read(self, limit: int) -> Any:
        return self.answers.pop(0) if self.answers else None

    def position(self) -> Any:
        return 0


class Splits(Source):
    def __init__(self, splits: Any, reader: Any = None) -> None:
        self.splits = splits
        self.reader = reader

    def create_splits(self, parallelism: int) -> Any:
        return self.splits

    def open_split(self, split: Any, position: Any, context: Any) -> Any:
        return self.reader


def read_from(source: Source) -> Any:
    return environment().from_source(source, WatermarkStrategy.no_watermarks(), "the step")


def reading(*answers: Any) -> Any:
    return read_from(Splits([SourceSplit("one")], Reader(list(answers))))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (5, "read() returned 5 (int), but it returns a pair"),
        (["a", "b", "c"], "read() returned ['a', 'b', 'c'] (list), but it returns a pair"),
        ((5, None), "The first of what read() returned 5 (int), but it returns a list"),
        ((None, None), "The first of what read() returned None"),
        ((["a"], 5), "The second of what read() returned 5 (int)"),
        ((["a", "b"], [1]), "read() returned 2 records with 1 timestamps"),
        ((["a"], [1.5]), "read() returned, as a timestamp, 1.5 (float), but a time is a whole number"),
        ((["a"], [None]), "read() returned, as a timestamp, None"),
    ],
    ids=str,
)
def test_runs_that_are_none(answer: Any, said: str) -> None:
    check(explained(reading(answer)), "the step", Reader.read, said)


def test_runs_may_have_numbers_of_numpy() -> None:
    stream = reading((np.array(["a", "b"]), np.array([1, 2])))
    stream.print()
    assert run_locally(stream.get_execution_environment()).printed == ["a", "b"]


@pytest.mark.parametrize("splits", [None, 5, "text", ["name"]], ids=repr)
def test_splits_that_are_none(splits: Any) -> None:
    shown = "None" if splits is None else repr(splits[0] if isinstance(splits, list) else splits)
    check(explained(read_from(Splits(splits))), "the step", Splits.create_splits, "create_splits() returned", shown)


def test_readers_that_are_none() -> None:
    error = explained(read_from(Splits([SourceSplit("one")], None)))
    check(error, "the step", Splits.open_split, "open_split() returned None, but it makes a SplitReader.")


class Writer(SinkWriter):
    def __init__(self, sink: Writing) -> None:
        self.sink = sink

    def write(self, element: Any, timestamp: int | None) -> None:
        pass

    def prepare_commit(self) -> Any:
        return self.sink.prepared

    def snapshot_state(self, checkpoint_id: int) -> Any:
        return self.sink.state


class Committing(Committer):
    def __init__(self, left: Any) -> None:
        self.left = left

    def commit(self, committables: list[Any]) -> Any:
        return self.left


class CommittingGlobally(GlobalCommitter):
    def __init__(self, left: Any) -> None:
        self.left = left

    def combine(self, committables: list[Any]) -> Any:
        return committables

    def commit(self, global_committables: list[Any]) -> Any:
        return self.left


class Writing(Sink):
    def __init__(self, *, prepared: Any = ("file",), state: Any = (), left: Any = (), writer: Any = Writer) -> None:
        self.prepared = prepared
        self.state = state
        self.left = left
        self.writer = writer

    def create_writer(self, context: Any) -> Any:
        return None if self.writer is None else self.writer(self)

    def create_committer(self, context: Any) -> Any:
        return Committing(self.left)


class WritingGlobally(Writing):
    def create_global_committer(self, context: Any) -> Any:
        return CommittingGlobally(self.left)

    def create_committer(self, context: Any) -> Any:
        return None


def refused(sink: Sink) -> UserFunctionError:
    env = environment()
    env.enable_checkpointing(1000)
    env.from_collection([1, 2]).sink_to(sink).name("the step")
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    return caught.value


@pytest.mark.parametrize("result", [None, 5, "text"], ids=repr)
@pytest.mark.parametrize(
    ("name", "method"),
    [("prepared", Writer.prepare_commit), ("state", Writer.snapshot_state), ("left", Committing.commit)],
)
def test_writers_and_committers_that_return_no_lists(name: str, method: Any, result: Any) -> None:
    shown = "None" if result is None else f"{result!r} ({type(result).__name__})"
    check(refused(Writing(**{name: result})), "the step", method, f"{method.__name__}() returned {shown}")


@pytest.mark.parametrize("result", [None, 5], ids=repr)
def test_global_committers_that_return_no_lists(result: Any) -> None:
    error = refused(WritingGlobally(left=result))
    check(error, "ommitter", CommittingGlobally.commit, "commit() returned", "it returns a list")


def test_writers_that_are_none() -> None:
    error = refused(Writing(writer=None))
    check(error, "the step", Writing.create_writer, "create_writer() returned None, but it makes a SinkWriter.")


class NoBucket(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> Any:
        return None


def test_buckets_that_are_none(tmp_path: Any) -> None:
    sink = (
        FileSink.for_row_format(f"file://{tmp_path}", Encoder.simple_string_encoder())
        .with_bucket_assigner(NoBucket())
        .build()
    )
    error = refused(sink)
    check(error, "the step", NoBucket.get_bucket_id, "get_bucket_id() returned None")
    assert error.record == "1"
    assert list(tmp_path.rglob("None")) == []
