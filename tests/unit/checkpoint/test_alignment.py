"""Barrier alignment in every order of arrival (ALG-03 to ALG-07, W-87)."""

from __future__ import annotations

import itertools
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checkpoint.alignment import (
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
from penstock.checkpoint.options import CheckpointOptions

ALIGNED = CheckpointOptions()
LOOSE = CheckpointOptions(is_exactly_once=False)
UNALIGNED = CheckpointOptions(is_unaligned=True)
PATIENT = CheckpointOptions(is_unaligned=True, aligned_timeout=50)


def test_w_87_elements_behind_an_arrived_barrier_wait_and_elements_in_front_on_the_slow_channel_do_not():
    aligner = BarrierAligner(2)
    assert aligner.on_barrier(0, 1, ALIGNED) == [Block(0)]
    assert aligner.blocked == {0}
    assert aligner.on_barrier(1, 1, ALIGNED) == [TakeSnapshot(1, ALIGNED), Release((0,))]
    assert aligner.blocked == frozenset()


def test_one_channel_never_waits():
    aligner = BarrierAligner(1)
    for options in (ALIGNED, LOOSE, UNALIGNED, PATIENT):
        assert TakeSnapshot(7, options) in BarrierAligner(1).on_barrier(0, 7, options)
    assert aligner.on_barrier(0, 1, ALIGNED) == [TakeSnapshot(1, ALIGNED)]


def test_at_least_once_blocks_nothing():
    aligner = BarrierAligner(2)
    assert aligner.on_barrier(0, 1, LOOSE) == []
    assert aligner.on_barrier(0, 2, LOOSE) == []
    assert aligner.on_barrier(1, 1, LOOSE) == [TakeSnapshot(1, LOOSE)]
    assert aligner.on_barrier(1, 2, LOOSE) == [TakeSnapshot(2, LOOSE)]


def test_at_least_once_a_complete_checkpoint_ends_the_wait_for_older_ones():
    aligner = BarrierAligner(2)
    aligner.on_barrier(0, 1, LOOSE)
    aligner.on_barrier(0, 2, LOOSE)
    taken, declined = aligner.on_barrier(1, 2, LOOSE)
    assert taken == TakeSnapshot(2, LOOSE)
    assert (type(declined), declined.checkpoint_id) == (Decline, 1)


def test_unaligned_takes_the_snapshot_with_the_first_barrier_and_records_the_rest():
    aligner = BarrierAligner(3)
    assert aligner.on_barrier(1, 1, UNALIGNED) == [TakeSnapshot(1, UNALIGNED), Record(1, (0, 2))]
    assert aligner.on_barrier(0, 1, UNALIGNED) == [StopRecording(1, 0)]
    assert aligner.on_channel_end(2) == [StopRecording(1, 2), FinishRecording(1)]


def test_where_barriers_stay_in_line_an_unaligned_checkpoint_is_aligned():
    for options in (UNALIGNED, PATIENT):
        aligner = BarrierAligner(2, may_overtake=False)
        assert aligner.on_barrier(0, 1, options) == [Block(0)]
        # The barrier goes on as what it is: behind this subtask it may overtake again.
        assert aligner.on_barrier(1, 1, options) == [TakeSnapshot(1, options), Release((0,))]


def test_a_timeout_turns_an_aligned_checkpoint_into_an_unaligned_one():
    aligner = BarrierAligner(3)
    assert aligner.on_barrier(0, 1, PATIENT) == [StartTimeout(1, 50), Block(0)]
    assert aligner.on_barrier(2, 1, PATIENT) == [Block(2)]
    assert aligner.on_timeout(1) == [TakeSnapshot(1, PATIENT), Record(1, (1,)), Release((0, 2))]
    assert aligner.on_timeout(1) == []
    assert aligner.on_barrier(1, 1, PATIENT) == [StopRecording(1, 1), FinishRecording(1)]


def test_a_timeout_after_the_last_barrier_means_nothing():
    aligner = BarrierAligner(2)
    aligner.on_barrier(0, 1, PATIENT)
    assert aligner.on_barrier(1, 1, PATIENT) == [TakeSnapshot(1, PATIENT), Release((0,))]
    assert aligner.on_timeout(1) == []


def test_a_newer_barrier_ends_an_incomplete_alignment():
    aligner = BarrierAligner(2)
    aligner.on_barrier(0, 1, ALIGNED)
    declined, blocked, released = aligner.on_barrier(1, 2, ALIGNED)
    assert (declined.checkpoint_id, blocked, released) == (1, Block(1), Release((0,)))
    assert aligner.on_barrier(0, 2, ALIGNED) == [TakeSnapshot(2, ALIGNED), Release((1,))]


def test_an_old_barrier_on_a_slow_channel_is_declined_once():
    aligner = BarrierAligner(3)
    aligner.on_barrier(0, 2, ALIGNED)
    assert [type(action) for action in aligner.on_barrier(1, 1, ALIGNED)] == [Decline]
    assert aligner.on_barrier(2, 1, ALIGNED) == []
    assert aligner.on_barrier(1, 2, ALIGNED) == [Block(1)]


def test_a_cancelled_checkpoint_releases_its_channels_and_its_late_barriers_mean_nothing():
    aligner = BarrierAligner(2)
    aligner.on_barrier(0, 1, ALIGNED)
    assert aligner.on_cancel(1) == [Release((0,))]
    assert aligner.on_barrier(1, 1, ALIGNED) == []
    assert aligner.on_barrier(1, 2, ALIGNED) == [Block(1)]


def test_a_cancellation_may_come_before_the_first_barrier():
    aligner = BarrierAligner(2)
    assert aligner.on_cancel(1) == []
    assert aligner.on_barrier(0, 1, ALIGNED) == []
    assert aligner.on_barrier(1, 1, ALIGNED) == []


def test_ended_channels_are_not_waited_for():
    aligner = BarrierAligner(3)
    aligner.on_channel_end(1)
    assert aligner.on_barrier(0, 1, ALIGNED) == [Block(0)]
    assert aligner.on_channel_end(2) == [TakeSnapshot(1, ALIGNED), Release((0,))]
    assert aligner.on_barrier(0, 2, ALIGNED) == [TakeSnapshot(2, ALIGNED)]


class Subtask:
    """Does what the aligner says: holds elements back, takes snapshots, records."""

    def __init__(self, channels, options):
        self.aligner = BarrierAligner(channels)
        self.options = options
        self.processed = [[] for _ in range(channels)]
        self.held = [deque() for _ in range(channels)]
        self.snapshots = {}
        self.recorded = {}
        self.recording = {}
        self.complete = []
        self.declined = []

    def receive(self, channel, element):
        if channel in self.aligner.blocked:
            self.held[channel].append(element)
            return
        match element:
            case "end":
                self.perform(self.aligner.on_channel_end(channel))
            case ("barrier", number):
                self.perform(self.aligner.on_barrier(channel, number, self.options))
            case _:
                self.processed[channel].append(element)
                for number, open_channels in self.recording.items():
                    if channel in open_channels:
                        self.recorded[number][channel].append(element)

    def perform(self, actions):
        for position, action in enumerate(actions):
            match action:
                case TakeSnapshot(number):
                    assert number not in self.snapshots, "taken once"
                    self.snapshots[number] = [list(each) for each in self.processed]
                    is_unaligned = any(isinstance(each, Record) for each in actions)
                    if not is_unaligned:
                        self.complete.append(number)
                case Record(number, channels):
                    self.recording[number] = set(channels)
                    self.recorded[number] = [[] for _ in self.processed]
                case StopRecording(number, channel):
                    self.recording[number].discard(channel)
                case FinishRecording(number):
                    assert not self.recording.pop(number)
                    self.complete.append(number)
                case Decline(number):
                    self.declined.append(number)
                    self.recording.pop(number, None)
                case Release(channels):
                    assert position == len(actions) - 1, "last, because it may bring more actions"
                    for channel in channels:
                        self.drain(channel)

    def drain(self, channel):
        while self.held[channel] and channel not in self.aligner.blocked:
            self.receive(channel, self.held[channel].popleft())

    def content(self, number):
        """What a restored subtask has processed: state and recorded records."""
        recorded = self.recorded.get(number, [[] for _ in self.processed])
        return [state + more for state, more in zip(self.snapshots[number], recorded, strict=True)]


def records_before(elements, number):
    before = itertools.takewhile(lambda element: element != ("barrier", number), elements)
    return [element for element in before if isinstance(element, int)]


def interleavings(lengths):
    """All orders in which elements of several channels can arrive."""
    if not any(lengths):
        yield ()
        return
    for channel, left in enumerate(lengths):
        if left:
            rest = [*lengths]
            rest[channel] -= 1
            for tail in interleavings(rest):
                yield (channel, *tail)


def run(channels, order, options, interruptions=()):
    """Feeds the channels in an order; interruptions are (position, event of the subtask's aligner)."""
    subtask = Subtask(len(channels), options)
    queues = [deque(elements) for elements in channels]
    for position, channel in enumerate(order):
        for when, event, number in interruptions:
            if when == position:
                subtask.perform(getattr(subtask.aligner, event)(number))
        subtask.receive(channel, queues[channel].popleft())
    for channel, elements in enumerate(channels):
        assert subtask.processed[channel] == [each for each in elements if isinstance(each, int)], "all, in order"
    assert subtask.aligner.blocked == frozenset()
    assert not any(subtask.held)
    return subtask


B1, B2 = ("barrier", 1), ("barrier", 2)
TWO = [[1, B1, 2, B2, 3], [4, B1, 5, B2, 6, "end"]]
THREE = [[1, B1, 2], [3, B1, 4], [5, B1]]
EXACT = [ALIGNED, UNALIGNED, PATIENT]


@pytest.mark.parametrize("channels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("options", EXACT, ids=["aligned", "unaligned", "patient"])
def test_every_order_of_arrival_gives_the_same_snapshots(channels, options):
    for order in interleavings([len(elements) for elements in channels]):
        subtask = run(channels, order, options)
        barriers = sorted({element for elements in channels for element in elements if isinstance(element, tuple)})
        if options is UNALIGNED:
            # Without waiting, a fast channel may bring checkpoint 2 before a slow one brings 1: then 1 is declined.
            assert sorted(subtask.complete + subtask.declined) == [number for _, number in barriers]
        else:
            assert subtask.complete == [number for _, number in barriers]
        for number in subtask.complete:
            assert subtask.content(number) == [records_before(elements, number) for elements in channels]


def test_a_timeout_at_any_moment_changes_nothing_but_when():
    for order in interleavings([len(elements) for elements in THREE]):
        for when in range(len(order)):
            subtask = run(THREE, order, PATIENT, [(when, "on_timeout", 1)])
            assert subtask.complete == [1]
            assert subtask.content(1) == [[1], [3], [5]]


@pytest.mark.parametrize("options", [*EXACT, LOOSE], ids=["aligned", "unaligned", "patient", "loose"])
def test_a_cancellation_at_any_moment_loses_no_record_and_hits_no_other_checkpoint(options):
    for order in interleavings([len(elements) for elements in TWO]):
        for when in (0, 3, 5, 7, len(order) - 1):
            subtask = run(TWO, order, options, [(when, "on_cancel", 1)])
            assert 2 in subtask.complete
            if options is not LOOSE:
                assert subtask.content(2) == [[1, 2], [4, 5]]


def test_at_least_once_holds_at_least_what_is_in_front_of_the_barriers():
    for order in interleavings([len(elements) for elements in TWO]):
        subtask = run(TWO, order, LOOSE)
        assert subtask.complete == [1, 2]
        for number in (1, 2):
            for elements, found in zip(TWO, subtask.content(number), strict=True):
                assert found[: len(records_before(elements, number))] == records_before(elements, number)


@st.composite
def histories(draw):
    """Channels that skip barriers and end at any time, a random order, and cancellations and timeouts in between."""
    channels = []
    for first in range(0, draw(st.integers(1, 3)) * 10, 10):
        elements = []
        for number in range(1, 4):
            elements += [first + number] * draw(st.integers(0, 1))
            if draw(st.integers(0, 3)):
                elements.append(("barrier", number))
        channels.append(elements + ["end"] * draw(st.integers(0, 1)))
    order = draw(st.permutations([channel for channel, elements in enumerate(channels) for _ in elements]))
    events = st.tuples(st.integers(0, 12), st.sampled_from(["on_cancel", "on_timeout"]), st.integers(1, 3))
    return channels, order, draw(st.lists(events, max_size=2))


@settings(max_examples=150, deadline=None)
@given(histories(), st.sampled_from(EXACT))
def test_whatever_is_complete_is_exactly_what_was_in_front_of_the_barriers(history, options):
    channels, order, events = history
    subtask = Subtask(len(channels), options)
    queues = [deque(elements) for elements in channels]
    for position, channel in enumerate(order):
        for when, event, number in events:
            if when == position and not (event == "on_timeout" and options is not PATIENT):
                subtask.perform(getattr(subtask.aligner, event)(number))
        subtask.receive(channel, queues[channel].popleft())
    cancelled = {number for _, event, number in events if event == "on_cancel"}
    for number in subtask.complete:
        expected = []
        for elements in channels:
            has_barrier = ("barrier", number) in elements
            assert has_barrier or "end" in elements
            expected.append(records_before(elements, number) if has_barrier else records_before(elements, None))
        assert subtask.content(number) == expected
    for number in range(1, 4):
        newest = max((n for elements in channels for _, n in [e for e in elements if isinstance(e, tuple)]), default=0)
        reached = all(("barrier", number) in elements for elements in channels)
        if reached and number == newest and number not in cancelled:
            assert number in subtask.complete, "the newest checkpoint that everybody has a barrier of is taken"
