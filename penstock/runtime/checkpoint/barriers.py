"""Barriers at work in one subtask: holds channels back, takes the snapshot, forwards the barrier, records stragglers.

The decisions are the aligner's (:mod:`penstock.checkpoint.alignment`); here they are carried out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from penstock.checkpoint.alignment import (
    Action,
    BarrierAligner,
    Block,
    Decline,
    FinishRecording,
    Record,
    Release,
    StartTimeout,
    StopRecording,
    TakeSnapshot,
)
from penstock.runtime.checkpoint.recording import Recording
from penstock.runtime.exchange.elements import BARRIER, Element

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.runtime.time.processing_time import ProcessingTimeService

__all__ = ["BarrierGate", "Snapshots", "barrier"]


class Snapshots(Protocol):
    """Takes snapshots of one subtask and tells the coordinator."""

    def take(self, checkpoint_id: int, options: CheckpointOptions, *, has_recording: bool) -> None:
        """Freeze the state, forward the barrier, and store in the background; waits for ``complete`` if recording."""

    def complete(self, checkpoint_id: int, recorded: Recording) -> None:
        """Add the recorded elements to a snapshot; now it may be acknowledged."""

    def decline(self, checkpoint_id: int, reason: str) -> None:
        """Tell the coordinator that the checkpoint will not come from here."""


class BarrierGate:
    """Stands between the channels of a subtask and its operators.

    ``held`` has, per channel held back, what has come meanwhile; ``process`` is called with what may go through.
    ``event_times`` gives elements that bring the watermarks of all channels back: what is recorded is processed before
    anything else comes. Unless ``may_overtake``, unaligned checkpoints are aligned here.
    """

    def __init__(
        self,
        channels: int,
        snapshots: Snapshots,
        processing_time: ProcessingTimeService,
        process: Callable[[int, list[Element]], None],
        event_times: Callable[[], list[tuple[int, Element]]],
        *,
        may_overtake: bool = True,
    ) -> None:
        self.held: dict[int, deque[list[Element]]] = {}
        self.recording: dict[int, int] = {}
        """Per channel that is recorded, the checkpoint it is recorded for."""
        self._aligner = BarrierAligner(channels, may_overtake=may_overtake)
        self._snapshots = snapshots
        self._processing_time = processing_time
        self._process = process
        self._event_times = event_times
        self._recorded: dict[int, Recording] = {}

    def on_barrier(self, channel: int, barrier: Element) -> None:
        """Take a barrier."""
        self._perform(self._aligner.on_barrier(channel, barrier[1], barrier[2]))

    def on_channel_end(self, channel: int) -> None:
        """Take note that a channel has ended."""
        self._perform(self._aligner.on_channel_end(channel))

    def on_abort(self, checkpoint_id: int) -> None:
        """Take note that the coordinator has given a checkpoint up."""
        self._forget(checkpoint_id)
        self._perform(self._aligner.on_cancel(checkpoint_id))

    def record(self, channel: int, element: Element) -> None:
        """Note an element that is processed next and belongs to an unaligned snapshot as well."""
        self._recorded[self.recording[channel]].add(channel, element)

    def _perform(self, actions: list[Action]) -> None:
        is_recording = any(isinstance(action, Record) for action in actions)
        for action in actions:
            match action:
                case Block(channel=channel):
                    self.held.setdefault(channel, deque())
                case TakeSnapshot(checkpoint_id=checkpoint_id, options=options):
                    self._snapshots.take(checkpoint_id, options, has_recording=is_recording)
                case Record(checkpoint_id=checkpoint_id, channels=channels):
                    self._recorded[checkpoint_id] = Recording(self._event_times())
                    self.recording.update(dict.fromkeys(channels, checkpoint_id))
                case StopRecording(channel=channel):
                    self.recording.pop(channel, None)
                case FinishRecording(checkpoint_id=checkpoint_id):
                    self._snapshots.complete(checkpoint_id, self._recorded.pop(checkpoint_id, Recording()))
                case StartTimeout(checkpoint_id=checkpoint_id, millis=millis):
                    self._start_timeout(checkpoint_id, millis)
                case Decline(checkpoint_id=checkpoint_id, reason=reason):
                    self._forget(checkpoint_id)
                    self._snapshots.decline(checkpoint_id, reason)
                case Release(channels=channels):
                    for channel in channels:
                        self._release(channel)

    def _forget(self, checkpoint_id: int) -> None:
        """Record nothing more for a checkpoint that will not come."""
        self._recorded.pop(checkpoint_id, None)
        self.recording = {channel: known for channel, known in self.recording.items() if known != checkpoint_id}

    def _start_timeout(self, checkpoint_id: int, millis: int) -> None:
        self._processing_time.after(millis, lambda _: self._perform(self._aligner.on_timeout(checkpoint_id)))

    def _release(self, channel: int) -> None:
        """Let through what was held back, in its order, until the next barrier holds the channel back again."""
        waiting = self.held.pop(channel, deque())
        while waiting:
            self._process(channel, waiting.popleft())
            if channel in self.held:
                self.held[channel].extend(waiting)
                return


def barrier(checkpoint_id: int, options: CheckpointOptions) -> Element:
    """Return the element that divides the stream for a checkpoint."""
    return (BARRIER, checkpoint_id, options)
