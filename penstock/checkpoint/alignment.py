"""Brings the barriers of several input channels together: a pure state machine.

A snapshot must hold the effect of exactly the records in front of the barrier on every channel. The channels deliver
their barriers at different times, and there are three answers to that:

- *Aligned* (exactly once): a channel that has delivered its barrier is blocked, the others go on; with the last
  barrier the snapshot is taken and the blocked channels are released. Nothing behind a barrier has been processed by
  then.
- *At least once*: no channel is blocked; the snapshot is taken with the last barrier. Records behind the early
  barriers are in the state, and will be read again after a recovery.
- *Unaligned* (exactly once without waiting): the first barrier takes the snapshot at once and goes on downstream at
  once. Records of the other channels in front of their barriers are processed as usual and also recorded; the record
  of a channel ends with its barrier. The snapshot is complete with the last barrier. State plus recorded records
  equal what an aligned snapshot would have held: on restore the recorded ones are processed first. A barrier does not
  overtake records inside of Spark's shuffle; as that holds about one megabyte per channel, it is the slow operator
  that an unaligned checkpoint does not wait for, at every hop, and not the wire. With an ``aligned_timeout`` a
  checkpoint starts aligned and becomes unaligned when the time is up. A subtask with an input whose barriers must stay
  in line (``Partitioning.keeps_barriers_in_line``) aligns all its channels.

A channel that has ended has delivered all barriers there will ever be. A barrier that is newer than the one being
waited for means that the older checkpoint was given up somewhere: it is declined here too. Barriers of a checkpoint
that was declined, cancelled or taken are ignored, so it does not matter in which order a cancellation and the last
barriers arrive.

``Release`` is always the last action of an answer: what it lets through may bring the next barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from penstock.checkpoint.options import CheckpointOptions

__all__ = [
    "Action",
    "BarrierAligner",
    "Block",
    "Decline",
    "FinishRecording",
    "Record",
    "Release",
    "StartTimeout",
    "StopRecording",
    "TakeSnapshot",
]


@dataclass(frozen=True)
class Block:
    """Hold back what follows on this channel."""

    channel: int


@dataclass(frozen=True)
class Release:
    """Process what was held back on these channels, in its order, and block them no longer."""

    channels: tuple[int, ...]


@dataclass(frozen=True)
class TakeSnapshot:
    """Take the snapshot now, between two records, and forward the barrier."""

    checkpoint_id: int
    options: CheckpointOptions


@dataclass(frozen=True)
class Record:
    """Process what comes on these channels and add it to the snapshot too."""

    checkpoint_id: int
    channels: tuple[int, ...]


@dataclass(frozen=True)
class StopRecording:
    """Add nothing more of this channel to the snapshot."""

    checkpoint_id: int
    channel: int


@dataclass(frozen=True)
class FinishRecording:
    """The recorded records are complete: the snapshot may be acknowledged once it is stored."""

    checkpoint_id: int


@dataclass(frozen=True)
class StartTimeout:
    """Call ``on_timeout`` with this checkpoint after so many milliseconds."""

    checkpoint_id: int
    millis: int


@dataclass(frozen=True)
class Decline:
    """Tell the coordinator that the checkpoint will not come; forget what was recorded for it."""

    checkpoint_id: int
    reason: str


Action: TypeAlias = Block | Release | TakeSnapshot | Record | StopRecording | FinishRecording | StartTimeout | Decline


@dataclass
class _Pending:
    """A checkpoint of which some barriers have arrived."""

    options: CheckpointOptions
    arrived: set[int] = field(default_factory=set)
    blocked: list[int] = field(default_factory=list)
    is_taken: bool = False
    """Whether the snapshot was taken and the rest is recorded."""


class BarrierAligner:
    """Aligns the barriers of one subtask with ``channels`` input channels.

    Events return the actions to perform, in order. A channel that is blocked delivers no event before it is released.
    Unless ``may_overtake``, unaligned checkpoints are aligned here.
    """

    def __init__(self, channels: int, *, may_overtake: bool = True) -> None:
        self._may_overtake = may_overtake
        self._open = set(range(channels))
        self._pending: dict[int, _Pending] = {}
        self._settled = -1
        """The newest checkpoint that was taken in full or declined; older barriers are of no interest."""
        self._cancelled: set[int] = set()
        self._newest = dict.fromkeys(self._open, -1)
        """Per channel, its newest barrier: barriers of a channel come in order, so an older one will not follow."""

    @property
    def blocked(self) -> frozenset[int]:
        """Return the channels that are held back now."""
        return frozenset(channel for pending in self._pending.values() for channel in pending.blocked)

    def on_barrier(self, channel: int, checkpoint_id: int, options: CheckpointOptions) -> list[Action]:
        """Take note of a barrier on a channel."""
        if checkpoint_id <= self._settled or checkpoint_id in self._cancelled:
            return []
        actions: list[Action] = []
        pending = self._pending.get(checkpoint_id)
        freed: list[int] = []
        self._newest[channel] = checkpoint_id
        if pending is None:
            if any(self._newest[other] > checkpoint_id for other in self._open):
                self._cancelled.add(checkpoint_id)
                return [Decline(checkpoint_id, "another channel has gone on to a newer checkpoint without it")]
            if options.is_exactly_once:
                freed = self._supersede(checkpoint_id, actions)
            pending = self._pending[checkpoint_id] = _Pending(options)
            if self._is_unaligned(options) and options.aligned_timeout > 0:
                actions.append(StartTimeout(checkpoint_id, options.aligned_timeout))
        pending.arrived.add(channel)
        if options.is_exactly_once:
            self._arrive(channel, checkpoint_id, pending, actions)
        self._complete(checkpoint_id, pending, actions, freed)
        return actions

    def on_channel_end(self, channel: int) -> list[Action]:
        """Take note that no barrier will come on a channel any more."""
        self._open.discard(channel)
        actions: list[Action] = []
        freed: list[int] = []
        for checkpoint_id, pending in sorted(self._pending.items()):
            if checkpoint_id in self._pending:  # an earlier one of this loop may have settled it
                if pending.is_taken and channel not in pending.arrived:
                    actions.append(StopRecording(checkpoint_id, channel))
                pending.arrived.add(channel)
                self._complete(checkpoint_id, pending, actions, freed)
        return _with_release_last(actions)

    def on_cancel(self, checkpoint_id: int) -> list[Action]:
        """Take note that the coordinator has given a checkpoint up; its barriers may still come."""
        if checkpoint_id > self._settled:
            self._cancelled.add(checkpoint_id)
        pending = self._pending.pop(checkpoint_id, None)
        return _release(pending.blocked) if pending is not None else []

    def on_timeout(self, checkpoint_id: int) -> list[Action]:
        """Make an unaligned checkpoint of one that has been aligning for too long."""
        pending = self._pending.get(checkpoint_id)
        if pending is None or pending.is_taken:
            return []
        actions: list[Action] = []
        self._take_unaligned(checkpoint_id, pending, actions)
        freed, pending.blocked = pending.blocked, []
        return actions + _release(freed)

    def _is_unaligned(self, options: CheckpointOptions) -> bool:
        return options.is_unaligned and self._may_overtake

    def _arrive(self, channel: int, checkpoint_id: int, pending: _Pending, actions: list[Action]) -> None:
        """Do what a barrier means for its own channel, as far as other channels are still awaited."""
        is_last = not self._open - pending.arrived
        if pending.is_taken:
            actions.append(StopRecording(checkpoint_id, channel))
        elif is_last:
            return
        elif self._is_unaligned(pending.options) and pending.options.aligned_timeout == 0:
            self._take_unaligned(checkpoint_id, pending, actions)
        else:
            pending.blocked.append(channel)
            actions.append(Block(channel))

    def _take_unaligned(self, checkpoint_id: int, pending: _Pending, actions: list[Action]) -> None:
        pending.is_taken = True
        awaited = tuple(sorted(self._open - pending.arrived))
        actions.append(TakeSnapshot(checkpoint_id, pending.options))
        actions.append(Record(checkpoint_id, awaited))

    def _complete(self, checkpoint_id: int, pending: _Pending, actions: list[Action], freed: list[int]) -> None:
        """Settle a checkpoint whose last barrier is there; release its channels and those freed before."""
        freed = [*freed]
        if not self._open - pending.arrived:
            if pending.is_taken:
                actions.append(FinishRecording(checkpoint_id))
            else:
                actions.append(TakeSnapshot(checkpoint_id, pending.options))
            del self._pending[checkpoint_id]
            freed += pending.blocked
            # At least once, older checkpoints may wait for barriers that this one has overtaken.
            freed += self._supersede(checkpoint_id, actions)
            self._settle(checkpoint_id)
        actions.extend(_release(freed))

    def _supersede(self, checkpoint_id: int, actions: list[Action]) -> list[int]:
        """Decline all older checkpoints and return the channels that they had blocked."""
        freed: list[int] = []
        for older in sorted(self._pending):
            if older < checkpoint_id:
                freed += self._pending.pop(older).blocked
                actions.append(Decline(older, f"checkpoint {checkpoint_id} began before all barriers of it had come"))
                self._settle(older)
        return freed

    def _settle(self, checkpoint_id: int) -> None:
        self._settled = max(self._settled, checkpoint_id)
        self._cancelled = {each for each in self._cancelled if each > self._settled}


def _release(channels: list[int]) -> list[Action]:
    return [Release(tuple(channels))] if channels else []


def _with_release_last(actions: list[Action]) -> list[Action]:
    others = [action for action in actions if not isinstance(action, Release)]
    return others + _release(
        [channel for action in actions if isinstance(action, Release) for channel in action.channels]
    )
