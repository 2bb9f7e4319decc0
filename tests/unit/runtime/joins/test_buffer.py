"""How the buffers of inner interval joins on the heap are cleaned up: as a whole, and not at every watermark."""

from __future__ import annotations

from typing import Any

from penstock.graph.multi_input_steps import IntervalJoinStep, JoinKind
from penstock.runtime.joins.buffer import HeapJoinBuffer
from penstock.runtime.joins.interval import IntervalJoinOperator
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.process import ProcessJoinFunction
from penstock.vocabulary.state.descriptors import MapStateDescriptor


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left[1], right[1]


def join(lower: int, upper: int) -> OperatorHarness:
    step = IntervalJoinStep(
        function=Pair(),
        key=lambda record: record[0],
        second_key=lambda record: record[0],
        lower=lower,
        upper=upper,
        kind=JoinKind.INNER,
    )
    return OperatorHarness.for_step(step)


def left_buffer(harness: OperatorHarness) -> HeapJoinBuffer:
    operator = harness.operator
    assert isinstance(operator, IntervalJoinOperator)
    assert isinstance(operator._left.buffer, HeapJoinBuffer)
    return operator._left.buffer


def filled(*times: int) -> HeapJoinBuffer:
    keys = KeyContext()
    buffer = HeapJoinBuffer(HeapStateBackend(keys), keys, "side", is_padded=False)
    for time in times:
        buffer.add("k", time, f"r{time}")
    return buffer


def times_of(buffer: HeapJoinBuffer, key: str = "k") -> list[int]:
    return [time for time, _ in buffer.entries[key]]


def test_a_buffer_is_walked_only_when_as_many_records_have_come_as_were_kept() -> None:
    buffer = filled(1, 2, 3, 4)
    buffer.forget(2)
    assert times_of(buffer) == [3, 4]
    buffer.add("k", 5, "r5")
    buffer.forget(3)
    assert times_of(buffer) == [3, 4, 5]
    buffer.add("k", 6, "r6")
    buffer.forget(3)
    assert times_of(buffer) == [4, 5, 6]


def test_everything_goes_when_all_of_it_is_over() -> None:
    buffer = filled(1, 2, 3, 4)
    buffer.forget(1)
    buffer.forget(4)
    assert buffer.entries == {}


def test_keys_without_records_are_gone() -> None:
    buffer = filled(1)
    buffer.add("other", 9, "r9")
    buffer.forget(5)
    assert buffer.entries == {"other": [(9, "r9")]}


def test_a_record_from_a_far_future_does_not_keep_the_others() -> None:
    harness = join(-5, 5)
    harness.push(("k", 1_000_000_000), 1_000_000_000)
    most = 0
    for time in range(2_000):
        harness.push(("k", time), time)
        harness.push_watermark(time)
        most = max(most, len(left_buffer(harness).entries["k"]))
    # Six are alive at a time, counting the one of the far future, and at most as many more wait for the next walk.
    assert most <= 14


def test_a_stream_far_ahead_of_the_other_is_not_walked_at_every_watermark() -> None:
    harness = join(0, 0)
    buffer = left_buffer(harness)
    harness.push_run([((f"k{time}", time), time) for time in range(1_000)])
    harness.push_watermark(0)
    for time in range(1, 400):
        harness.push_watermark(time)
    assert len(buffer.entries) == 999
    harness.push_run([((f"k{time}", time), time) for time in range(1_000, 2_000)])
    harness.push_watermark(400)
    assert len(buffer.entries) == 2_000 - 401


def test_what_is_over_is_not_part_of_a_snapshot() -> None:
    harness = join(-2, 2)
    for time in (1, 2, 3, 50):
        harness.push(("k", time), time)
    harness.push_watermark(2)
    harness.push_watermark(5)
    assert times_of(left_buffer(harness)) == [1, 2, 3, 50]
    harness.operator.prepare_snapshot(1)
    assert times_of(left_buffer(harness)) == [50]
    # The record of 50 is over at 52, and another backend learns that from the snapshot.
    timers = harness.operator.snapshot_timers()
    assert [(timer.timestamp, timer.key, timer.namespace) for timer in timers] == [(52, "k", "left")]


def test_what_a_snapshot_held_is_kept_until_it_is_over() -> None:
    harness = join(-2, 2)
    harness.push(("k", 50), 50)
    harness.operator.prepare_snapshot(1)
    timers = harness.operator.snapshot_timers()
    again = IntervalJoinOperator(harness.operator.step)  # type: ignore[attr-defined]
    again.setup(harness.operator.context, harness.operator.output)
    again.open()
    again.restore_timers(timers)
    again.process_watermark(51)
    again.process_second([("k", 52)], [52])
    assert harness.values == [(50, 52)]
    again.process_watermark(52)
    assert list(again._left.buffer.between("k", 0, 100)) == []


def test_records_that_come_out_of_order_are_kept_in_the_order_of_time() -> None:
    buffer = filled(5, 1, 9, 5, 3)
    assert times_of(buffer) == [1, 3, 5, 5, 9]
    assert list(buffer.between("k", 3, 5)) == [(3, "r3"), (5, "r5"), (5, "r5")]
    assert list(buffer.between("k", 6, 8)) == []
    assert list(buffer.between("other", 0, 9)) == []


def test_a_snapshot_holds_what_there_was_and_the_state_is_empty_again_with_the_next_watermark() -> None:
    harness = join(-2, 2)
    mutable = ["k", 50]
    harness.push(mutable, 50)
    harness.operator.prepare_snapshot(1)
    mutable[1] = 51
    backend = harness.operator.context.keyed_state()
    harness.operator.context.keys.key = "k"
    stored = backend.map_state(MapStateDescriptor("interval-join-left"))
    assert stored.items() == [(50, [["k", 50]])]
    harness.push_watermark(1)
    assert backend.keys("interval-join-left") == []
    harness.push_second(("k", 52), 52)
    assert harness.values == [(51, 52)]
