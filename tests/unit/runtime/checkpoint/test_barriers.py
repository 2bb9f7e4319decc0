"""What the gate of a subtask records when checkpoints overtake each other."""

from __future__ import annotations

from typing import Any

from penstock.checkpoint.options import CheckpointOptions
from penstock.foundation.clock import ManualClock
from penstock.runtime.checkpoint.barriers import BarrierGate, barrier
from penstock.runtime.checkpoint.recording import Recording, read_recording
from penstock.runtime.exchange.elements import RECORDS
from penstock.runtime.time.processing_time import ProcessingTimeService

UNALIGNED = CheckpointOptions(is_unaligned=True)


class Said:
    """Writes down what the gate wants done."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.declined: list[int] = []
        self.recorded: dict[int, list[tuple[int, Any]]] = {}

    def take(self, checkpoint_id: int, options: CheckpointOptions, *, has_recording: bool) -> None:
        self.taken.append(checkpoint_id)

    def complete(self, checkpoint_id: int, recorded: Recording) -> None:
        self.recorded[checkpoint_id] = read_recording(recorded.encode(), "step")

    def decline(self, checkpoint_id: int, reason: str) -> None:
        self.declined.append(checkpoint_id)


def test_a_channel_that_brings_the_next_barrier_is_not_recorded_for_the_one_before() -> None:
    said = Said()
    gate = BarrierGate(3, said, ProcessingTimeService(ManualClock(0)), lambda channel, elements: None, list)
    gate.on_barrier(0, barrier(1, UNALIGNED))
    assert gate.recording == {1: 1, 2: 1}
    # The first checkpoint was given up at the sender of channel 1, and the word of it is not here yet.
    gate.on_barrier(1, barrier(2, UNALIGNED))
    assert said.declined == [1]
    assert gate.recording == {0: 2, 2: 2}
    gate.record(0, (RECORDS, ["a"], None))
    gate.record(2, (RECORDS, ["b"], [5]))
    gate.on_barrier(0, barrier(2, UNALIGNED))
    gate.on_barrier(2, barrier(2, UNALIGNED))
    assert gate.recording == {}
    assert said.taken == [1, 2]
    assert said.recorded == {2: [(0, (RECORDS, ["a"], None)), (2, (RECORDS, ["b"], [5]))]}
