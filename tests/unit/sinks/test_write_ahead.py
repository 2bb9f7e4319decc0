"""The write-ahead sink over several runs of a job: nothing is lost, and what was remembered is not written again."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    CheckpointCommitter,
    CheckpointedFunction,
    GenericWriteAheadSink,
    MapFunction,
    ReaderContext,
    Source,
    SourceSplit,
    SplitReader,
    WatermarkStrategy,
)
from penstock.foundation.clock import ManualClock
from penstock.testing.local_checkpoints import LocalCheckpoint
from penstock.testing.local_run import LocalRun
from tests.unit.local_jobs import environment
from tests.unit.sinks.lives import KillError


class World:
    """The target outside of the job: it takes a batch and the note about it in one step, as a database does."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.noted: dict[tuple[str, str, int], int] = {}
        self.staged: list[Any] = []
        self.sent: list[tuple[list[Any], int, int]] = []
        self.opened: list[str] = []
        self.snapshots: list[tuple[int, int]] = []
        self.faults: list[str] = []
        """The next calls that fail, by their names."""

    def call(self, name: str) -> None:
        if self.faults and self.faults[0] == name:
            self.faults.pop(0)
            message = f"{name} does not work now"
            raise OSError(message)


WORLD = World()


@pytest.fixture(autouse=True)
def world() -> World:
    WORLD.__init__()  # type: ignore[misc] # functions of jobs find it by its name
    return WORLD


class Notes(CheckpointCommitter):
    """Notes the newest checkpoint of each subtask, in one transaction with its records."""

    def open(self) -> None:
        WORLD.opened.append(self.job_id)

    def close(self) -> None:
        WORLD.opened.remove(self.job_id)

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        WORLD.call("note")
        WORLD.rows += WORLD.staged
        WORLD.noted[self.job_id, self.operator_id, subtask] = checkpoint_id

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        WORLD.call("look up")
        return WORLD.noted.get((self.job_id, self.operator_id, subtask), 0) >= checkpoint_id


class Rows(GenericWriteAheadSink[Any]):
    def __init__(self) -> None:
        super().__init__(Notes())

    def send_values(self, values: Sequence[Any], checkpoint_id: int, timestamp: int) -> bool:
        WORLD.call("send")
        WORLD.staged = list(values)
        WORLD.sent.append((list(values), checkpoint_id, timestamp))
        return True


class Lanes(Source[Any]):
    """One split per lane, each with its records in order, one at a time."""

    def __init__(self, lanes: Sequence[Sequence[Any]]) -> None:
        self._lanes = [list(lane) for lane in lanes]

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit(str(number)) for number in range(len(self._lanes))]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        return _Lane(self._lanes[int(split.id)], position or 0)


class _Lane(SplitReader[Any]):
    def __init__(self, elements: list[Any], start: int) -> None:
        self._elements = elements
        self._next = start

    def read(self, limit: int) -> tuple[list[Any], None] | None:
        values = self._elements[self._next : self._next + 1]
        self._next += 1
        return (values, None) if values else None

    def position(self) -> int:
        return self._next


class Noting(MapFunction, CheckpointedFunction):
    """Notes each snapshot's number and time."""

    def map(self, value: Any) -> Any:
        return value

    def initialize_state(self, context: Any) -> None:
        pass

    def snapshot_state(self, context: Any) -> None:
        WORLD.snapshots.append((context.get_checkpoint_id(), context.get_checkpoint_timestamp()))


def run_of(
    lanes: Sequence[Sequence[Any]],
    parallelism: int = 1,
    restore: LocalCheckpoint | str | None = None,
    clock: ManualClock | None = None,
) -> LocalRun:
    env = environment(parallelism)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(Lanes(lanes), WatermarkStrategy.no_watermarks(), "lanes").uid("lanes")
    stream.map(Noting()).uid("noting").add_sink(Rows()).uid("rows")
    return LocalRun(env._build_job("lanes to rows"), restore=restore, clock=clock)


def test_the_last_checkpoint_of_a_bounded_job_has_its_number_and_its_time(world: World) -> None:
    run = run_of([[1, 2, 3]], clock=ManualClock(1000))
    run.step()
    run.checkpoint()
    run.advance(500)
    run.run()
    assert world.sent == [([1], 1, 1000), ([2, 3], 2, 1500)]
    assert world.snapshots == [(1, 1000), (2, 1500)]
    assert list(world.noted.values()) == [2]
    assert [(each.checkpoint_id, each.timestamp) for each in run.checkpoints.complete] == [(1, 1000), (2, 1500)]


def test_a_second_run_of_the_same_job_writes_its_records(world: World) -> None:
    run_of([[1, 2]]).run()
    run_of([[3, 4, 5]]).run()
    assert world.rows == [1, 2, 3, 4, 5]
    assert world.opened == [], "closed as often as opened"


def test_a_run_that_goes_on_from_the_last_checkpoint_of_another_repeats_nothing(world: World) -> None:
    run = run_of([[1, 2, 3, 4]])
    run.step()
    first = run.checkpoint()
    run.step()
    second = run.checkpoint()
    assert world.rows == [1, 2]
    run_of([[1, 2, 3, 4]], restore=second).run()
    assert world.rows == [1, 2, 3, 4], "the batch of the restored checkpoint was there, and is known"
    # Going back to an older checkpoint: what came after it is written again, under the numbers that were used before.
    run_of([[1, 2, 3, 4]], restore=first).run()
    assert world.rows == [1, 2, 3, 4, 2, 3, 4]


def test_a_finished_job_that_is_restored_has_nothing_more_to_write(world: World) -> None:
    run = run_of([[1, 2, 3]]).run()
    run_of([[1, 2, 3]], restore=run.checkpoints.complete[-1]).run()
    assert world.rows == [1, 2, 3]


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_rescaling_with_a_subtask_that_has_finished(world: World, parallelism: int) -> None:
    lanes = [["a1"], ["b1", "b2", "b3", "b4"]]
    run = run_of(lanes, parallelism=2)
    run.step()
    run.step()  # the first lane ends here
    run.checkpoint()
    run.step()
    last = run.checkpoint()
    assert sorted(world.rows) == ["a1", "b1", "b2", "b3"]
    run_of(lanes, parallelism=parallelism, restore=last).run()
    assert sorted(world.rows) == ["a1", "b1", "b2", "b3", "b4"]


@pytest.mark.parametrize("call", ["look up", "send", "note"])
def test_an_error_is_logged_and_the_batch_is_tried_again_with_the_next_checkpoint(
    world: World, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_of([[1, 2, 3]])
    run.step()
    world.faults = [call]
    with caplog.at_level(logging.ERROR):
        run.checkpoint()
    assert "could not be written; they are tried again with the next checkpoint" in caplog.text
    assert f"{call} does not work now" in caplog.text
    assert world.rows == []
    run.advance(10_000)
    assert world.rows == [], "not before the next checkpoint"
    run.step()
    run.checkpoint()
    assert world.rows == [1, 2]
    run.run()
    assert world.rows == [1, 2, 3]


def test_behind_the_last_checkpoint_a_batch_is_tried_again_every_second(world: World) -> None:
    world.faults = ["send", "note", "look up"]
    run = run_of([[1, 2, 3]], clock=ManualClock(0)).run()
    assert world.rows == [1, 2, 3]
    assert run.clock.now() == 3000
    assert world.opened == []


def test_a_batch_that_could_not_be_written_is_in_the_savepoint_and_known_by_its_run(world: World) -> None:
    run = run_of([[1, 2, 3]])
    run.step()
    world.faults = ["send"]
    run.checkpoint()
    run.step()
    last = run.checkpoint()
    run.close()
    world.faults = ["look up"]  # also the restored run meets an error at first
    second = run_of([[1, 2, 3]], restore=last)
    second.open()
    assert world.rows == [1, 2], "batch 1 was written with checkpoint 2"
    second.run()
    assert world.rows == [1, 2, 3]


def test_one_savepoint_starts_two_jobs_and_neither_takes_the_records_of_the_other_for_its_own(
    world: World, tmp_path: Any
) -> None:
    run = run_of([[1, 2, 3]])
    run.step()
    savepoint = run.savepoint(tmp_path)
    run.close()
    assert world.rows == [], "sinks do not commit with a savepoint"
    run_of([[1, 2, 3]], restore=savepoint).run()
    run_of([[1, 7, 8]], restore=savepoint).run()
    assert world.rows == [1, 2, 3, 7, 8]


def kill() -> None:
    raise KillError


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_happens_nothing_is_lost_or_repeated(data: st.DataObject) -> None:
    WORLD.__init__()  # type: ignore[misc]
    lanes = [[f"{lane}{number}" for number in range(data.draw(st.integers(0, 6)))] for lane in "abc"]
    expected = Counter(value for lane in lanes for value in lane)
    last: LocalCheckpoint | None = None
    is_over = False
    for _ in range(12):
        run = run_of(lanes, data.draw(st.integers(1, 3)), last)
        try:
            run.open()
            for action in data.draw(st.lists(st.sampled_from(["step", "checkpoint", "fault", "kill"]), max_size=8)):
                if action == "step":
                    run.step()
                elif action == "checkpoint":
                    run.checkpoint()
                elif action == "fault":
                    WORLD.faults.append(data.draw(st.sampled_from(["look up", "send", "note"])))
                else:
                    kill()
            run.run()
            is_over = True
            break
        except KillError:
            last = run.checkpoints.complete[-1] if run.checkpoints.complete else last
    if not is_over:
        WORLD.faults = []
        run_of(lanes, 2, last).run()
    assert Counter(WORLD.rows) == expected
