"""Snapshots of harnesses: other harnesses go on from them, also with another parallelism or state backend."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock import (
    CheckpointedFunction,
    CheckpointListener,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from penstock.errors import CheckpointError, ProgramError, StateRestoreError
from penstock.testing import OperatorHarness

BACKENDS = {"heap": HashMapStateBackend, "rocksdb": EmbeddedRocksDBStateBackend}
COUNT = ValueStateDescriptor("count")
TABLE = MapStateDescriptor("table")
KEYS = [f"key {number}" for number in range(20)]


class Count(KeyedProcessFunction[Any, Any, Any]):
    """Counts the records of a key and emits the count at time 100 of both kinds."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.table = runtime_context.get_map_state(TABLE)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.table.put(self.count.value(), value)
        self.table.put(-1, value)
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(100)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value(), ctx.time_domain().name


def counting(**options: Any) -> OperatorHarness:
    return OperatorHarness.for_process(Count(), key=lambda word: word, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fresh_harness_goes_on_from_a_snapshot(backend: str) -> None:
    with counting(state_backend=BACKENDS[backend]()) as first:
        first.push("a", 1)
        first.push("a", 2)
        first.advance(40)
        snapshot = first.snapshot()
        first.push("a", 3)  # comes after the snapshot
    with counting(state_backend=BACKENDS[backend](), restore=snapshot) as second:
        assert second.clock.now() == 40
        assert second.state(COUNT, "a") == 2
        assert second.state(TABLE, "a") == {1: "a", 2: "a", -1: "a"}
        assert len(second.event_timers()) == len(second.processing_timers()) == 1
        second.push("a", 4)
        second.push_watermark(100)
        second.advance_to(100)
        assert second.values == [("a", 3, "EVENT_TIME"), ("a", 3, "PROCESSING_TIME")]
        assert second.snapshot().checkpoint_id == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_entry_is_a_key_with_content(backend: str) -> None:
    with counting(state_backend=BACKENDS[backend]()) as harness:
        for word in ("a", "b", "a"):
            harness.push(word, 1)
        assert harness.state_entry_count(COUNT) == 2
        assert harness.state_entry_count(TABLE) == 2  # a map is one entry, however many it holds
        assert harness.state_entry_count() == 4
        assert harness.state_entry_count(ValueStateDescriptor("other")) == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 3), (2, 2)])
def test_snapshots_are_dealt_out_to_another_number_of_subtasks(backend: str, before: int, after: int) -> None:
    options: Any = {"state_backend": BACKENDS[backend](), "max_parallelism": 16}
    snapshots = []
    for subtask in range(before):
        with counting(parallelism=before, subtask=subtask, **options) as harness:
            for key in filter(harness.owns, KEYS):
                harness.push(key, 1)
            snapshots.append(harness.snapshot(7))
    found: list[Any] = []
    for subtask in range(after):
        with counting(parallelism=after, subtask=subtask, restore=snapshots, **options) as harness:
            mine = sorted(filter(harness.owns, KEYS))
            assert sorted(harness.state_keys(COUNT)) == mine
            harness.push_watermark(100)
            assert sorted(value[0] for value in harness.values) == mine
            found += mine
    assert sorted(found) == sorted(KEYS)


@pytest.mark.parametrize(("old", "new"), [("heap", "rocksdb"), ("rocksdb", "heap")])
def test_a_savepoint_is_read_by_every_backend(old: str, new: str) -> None:
    with counting(state_backend=BACKENDS[old]()) as first:
        first.push("a", 1)
        snapshot = first.snapshot(is_savepoint=True)
    with counting(state_backend=BACKENDS[new](), restore=snapshot) as second:
        assert second.state(COUNT, "a") == 1


def test_windows_go_on_and_late_records_go_to_their_side_output() -> None:
    late = OutputTag("late")

    def windows(**options: Any) -> OperatorHarness:
        return OperatorHarness.for_window(
            TumblingEventTimeWindows.of(10),
            key=lambda pair: pair[0],
            allowed_lateness=5,
            late_tag=late,
            reduce=lambda a, b: (a[0], a[1] + b[1]),
            **options,
        )

    with windows() as first:
        first.push(("a", 1), 3)
        first.push(("b", 1), 12)
        assert first.state_entry_count() == 2
        snapshot = first.snapshot()
    with windows(restore=snapshot) as second:
        second.push(("a", 2), 4)
        second.push_watermark(9)
        assert second.take_outputs() == [(("a", 3), 9)]
        second.push(("a", 4), 5)  # late, but allowed
        assert second.take_outputs() == [(("a", 7), 9)]
        second.push_watermark(14)
        second.push(("a", 8), 6)  # too late: the window [0, 10) ended for good at 9 + 5
        assert second.side_output(late) == [(("a", 8), 6)]
        assert second.state_entry_count() == 1
        second.push_watermark(24)
        assert second.values == [("b", 1)]
        assert second.state_entry_count() == 0


class Buffer(MapFunction[Any, Any], CheckpointedFunction, CheckpointListener):
    """Keeps records in operator state and notes what it is told of checkpoints."""

    def __init__(self) -> None:
        self.buffered: list[Any] = []
        self.calls: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.stored = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffered"))
        self.buffered = list(self.stored.get())

    def map(self, value: Any) -> Any:
        self.buffered.append(value)
        return value

    def snapshot_state(self, context: Any) -> None:
        self.calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self.stored.update(self.buffered)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))


def test_a_function_takes_part_in_checkpoints() -> None:
    function = Buffer()
    with OperatorHarness.for_function(function) as harness:
        harness.advance(50)
        harness.push("x")
        harness.snapshot()
        harness.notify_complete(1)
        harness.snapshot(5)
        harness.notify_aborted(5)
        assert function.calls == [("snapshot", 1, 50), ("complete", 1), ("snapshot", 5, 50), ("aborted", 5)]
        assert harness.operator_state(ListStateDescriptor("buffered")) == ["x"]
        harness.end()
        assert harness.snapshot().checkpoint_id == 6  # also after the end


def test_operator_lists_are_spread() -> None:
    with OperatorHarness.for_function(Buffer()) as harness:
        for number in range(5):
            harness.push(number)
        snapshot = harness.snapshot()
    parts = []
    for subtask in range(2):
        function = Buffer()
        OperatorHarness.for_function(function, parallelism=2, subtask=subtask, restore=[snapshot]).close()
        parts.append(function.buffered)
    assert sorted(len(part) for part in parts) == [2, 3]
    assert parts[0] + parts[1] == [0, 1, 2, 3, 4]


def test_what_cannot_be_restored_is_explained() -> None:
    with counting(parallelism=2, subtask=0) as harness:
        snapshot = harness.snapshot()
    with pytest.raises(ProgramError, match="all former subtasks"):
        counting(restore=snapshot)
    with counting() as whole:
        whole.push("a", 1)
        snapshot = whole.snapshot()
    with pytest.raises(StateRestoreError, match="max parallelism of 128"):
        counting(restore=snapshot, max_parallelism=64)
    with pytest.raises(ProgramError, match="subtask 2 of 2"):
        counting(parallelism=2, subtask=2)


def test_a_subtask_takes_its_own_keys_only() -> None:
    with counting(parallelism=2, subtask=0) as harness:
        foreign = next(key for key in KEYS if not harness.owns(key))
        with pytest.raises(ProgramError, match="belongs to another subtask"):
            harness.push(foreign, 1)


def test_a_snapshot_that_fails_says_why() -> None:
    with OperatorHarness.for_function(Buffer()) as harness:
        harness.push(threading.Lock())
        with pytest.raises(CheckpointError, match=r"was not taken: .*pickle"):
            harness.snapshot()
        harness.push("the operator goes on")
        with pytest.raises(ProgramError, match="1 cannot follow 1"):
            harness.snapshot(1)
