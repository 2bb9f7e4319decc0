from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import MissingTimestampError, ProgramError
from penstock.vocabulary.time.durations import Duration, Time
from penstock.vocabulary.windows.assigners import (
    GlobalWindows,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.vocabulary.windows.count_assigners import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.vocabulary.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.vocabulary.windows.sessions import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.vocabulary.windows.triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    TriggerResult,
)
from penstock.vocabulary.windows.windows import CountWindow, GlobalWindow, TimeWindow
from tests.unit.vocabulary.windows.trigger_driver import FakeState, TriggerDriver

LONG_MIN = -(2**63)


class FakeRuntimeContext:
    def __init__(self):
        self.cells: dict[Any, Any] = {}

    def get_state(self, descriptor):
        return FakeState(self.cells, descriptor)


class FakeAssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, clock=0):
        self.clock = clock
        self.runtime_context = FakeRuntimeContext()

    def get_current_processing_time(self):
        return self.clock

    def get_runtime_context(self):
        return self.runtime_context


class FieldGap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element["gap"]


def spans(windows):
    return [(window.start, window.end) for window in windows]


def tumbling(timestamp, size, offset=0):
    return spans(TumblingEventTimeWindows.of(size, offset).assign_windows("x", timestamp, None))


def sliding(timestamp, size, slide, offset=0):
    return spans(SlidingEventTimeWindows.of(size, slide, offset).assign_windows("x", timestamp, None))


@pytest.mark.parametrize(
    ("timestamp", "size", "offset", "expected"),
    [
        (1549044125000, 5000, 0, (1549044125000, 1549044130000)),
        (1549044122000, 5000, 0, (1549044120000, 1549044125000)),
        (1234, 5000, 0, (0, 5000)),
        (7000, 5000, 0, (5000, 10000)),
        (7000, 5000, 1000, (6000, 11000)),
        (4999, 5000, 0, (0, 5000)),
        (-1, 5000, 0, (-5000, 0)),
    ],
)
def test_w_21_tumbling_windows_are_aligned(timestamp, size, offset, expected):
    assert tumbling(timestamp, size, offset) == [expected]


def test_w_33_an_event_at_7_s_is_in_both_overlapping_windows():
    windows = sliding(7, 10, 5)
    assert sorted(windows) == [(0, 10), (5, 15)]
    assert windows[0] == (5, 15), "Flink assigns the latest window first"


def test_w_63_a_sliding_window_may_start_before_the_epoch():
    assert sorted(sliding(0, 2, 1)) == [(-1, 1), (0, 2)]
    assert sorted(sliding(1, 2, 1)) == [(0, 2), (1, 3)]


def test_a_slide_longer_than_the_size_leaves_gaps():
    assert sliding(12, 5, 10) == [(10, 15)]
    assert sliding(15, 5, 10) == []
    assert sliding(19, 5, 10) == []


times = st.integers(-100_000, 100_000)
lengths = st.integers(1, 60)


@given(st.lists(times, min_size=1, max_size=8), lengths, st.data())
def test_tumbling_windows_equal_brute_force(timestamps, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    assigner = TumblingEventTimeWindows.of(size, offset)
    for timestamp in timestamps:
        expected = [
            (start, start + size)
            for start in range(timestamp - size, timestamp + 1)
            if (start - offset) % size == 0 and start <= timestamp < start + size
        ]
        assert spans(assigner.assign_windows("x", timestamp, None)) == expected


@given(st.lists(times, min_size=1, max_size=8), lengths, lengths, st.data())
def test_sliding_windows_equal_brute_force(timestamps, size, slide, data):
    offset = data.draw(st.integers(-slide + 1, slide - 1))
    assigner = SlidingEventTimeWindows.of(size, slide, offset)
    for timestamp in timestamps:
        # Two neighbours, because windows of the moment before must not be taken for those of the next.
        for moment in (timestamp, timestamp + 1):
            expected = [
                (start, start + size)
                for start in range(moment, moment - size, -1)
                if (start - offset) % slide == 0 and start <= moment < start + size
            ]
            assert spans(assigner.assign_windows("x", moment, None)) == expected


def test_a_caller_may_change_the_list_it_got():
    for assigner in (TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 5)):
        first = assigner.assign_windows("x", 7, None)
        expected = list(first)
        first.clear()
        assert assigner.assign_windows("x", 7, None) == expected


@pytest.mark.parametrize(
    ("assigner", "event_time", "trigger"),
    [
        (TumblingEventTimeWindows.of(5), True, EventTimeTrigger),
        (TumblingProcessingTimeWindows.of(5), False, ProcessingTimeTrigger),
        (SlidingEventTimeWindows.of(5, 2), True, EventTimeTrigger),
        (SlidingProcessingTimeWindows.of(5, 2), False, ProcessingTimeTrigger),
        (EventTimeSessionWindows.with_gap(5), True, EventTimeTrigger),
        (ProcessingTimeSessionWindows.with_gap(5), False, ProcessingTimeTrigger),
        (EventTimeSessionWindows.with_dynamic_gap(FieldGap()), True, EventTimeTrigger),
        (ProcessingTimeSessionWindows.with_dynamic_gap(FieldGap()), False, ProcessingTimeTrigger),
    ],
)
def test_time_assigners_bring_their_trigger_and_serializer(assigner, event_time, trigger):
    assert assigner.is_event_time() is event_time
    assert type(assigner.get_default_trigger()) is trigger
    assert type(assigner.get_default_trigger("an environment")) is trigger
    assert isinstance(assigner.get_window_serializer(), TimeWindowSerializer)


@pytest.mark.parametrize(
    "assigner",
    [TumblingProcessingTimeWindows.of(5, 1), SlidingProcessingTimeWindows.of(5, 5, 1)],
)
def test_processing_time_windows_follow_the_clock(assigner):
    assert spans(assigner.assign_windows("x", 1000, FakeAssignerContext(clock=7))) == [(6, 11)]
    assert spans(assigner.assign_windows("x", None, FakeAssignerContext(clock=11))) == [(11, 16)]


def test_w_43_sliding_processing_time_windows():
    assigner = SlidingProcessingTimeWindows.of(Time.seconds(10), Time.seconds(5))
    assert spans(assigner.assign_windows("x", None, FakeAssignerContext(clock=7000))) == [(5000, 15000), (0, 10000)]


@pytest.mark.parametrize("size", [Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5), 5000])
def test_lengths_are_taken_in_every_form(size):
    assert TumblingEventTimeWindows.of(size).size == 5000
    assert TumblingEventTimeWindows(size, 0).size == 5000
    assert SlidingEventTimeWindows.of(size, size).slide == 5000
    assert SlidingEventTimeWindows.of(Time.minutes(1), 6000, size).offset == 5000
    assert EventTimeSessionWindows.with_gap(size).session_gap == 5000
    assert spans(DynamicEventTimeSessionWindows(lambda _: size).assign_windows("x", 0, None)) == [(0, 5000)]


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
@pytest.mark.parametrize(("size", "offset"), [(5, 5), (5, -5), (0, 0), (-5, 0)])
def test_tumbling_lengths_are_checked(kind, size, offset):
    with pytest.raises(ProgramError, match=rf"{kind.__name__} needs abs\(offset\) < size"):
        kind.of(size, offset)


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
@pytest.mark.parametrize(("size", "slide", "offset"), [(9, 5, 5), (9, 5, -5), (9, 0, 0), (0, 5, 0)])
def test_sliding_lengths_are_checked(kind, size, slide, offset):
    with pytest.raises(ProgramError, match=rf"{kind.__name__} needs abs\(offset\) < slide and size > 0"):
        kind.of(size, slide, offset)


def test_negative_offsets_give_local_days():
    day_in_shanghai = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    (window,) = day_in_shanghai.assign_windows("x", 0, None)
    assert window == TimeWindow(-8 * 3_600_000, 16 * 3_600_000)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(5),
        SlidingEventTimeWindows.of(5, 2),
        EventTimeSessionWindows.with_gap(5),
        DynamicEventTimeSessionWindows(lambda _: 5),
    ],
)
@pytest.mark.parametrize("timestamp", [None, LONG_MIN])
def test_event_time_needs_timestamps(assigner, timestamp):
    with pytest.raises(MissingTimestampError, match="assign_timestamps_and_watermarks") as error:
        assigner.assign_windows("the record", timestamp, FakeAssignerContext())
    assert "'the record'" in str(error.value)
    assert type(assigner).__name__ in str(error.value)


def test_the_error_of_a_missing_timestamp_shortens_the_record():
    with pytest.raises(MissingTimestampError) as error:
        TumblingEventTimeWindows.of(5).assign_windows("x" * 10_000, None, None)
    assert len(str(error.value)) < 1000


def test_the_global_window_holds_everything():
    assigner = GlobalWindows.create()
    assert list(assigner.assign_windows("x", LONG_MIN, None)) == [GlobalWindow.get()]
    assert isinstance(assigner.get_default_trigger(), NeverTrigger)
    assert isinstance(assigner.get_window_serializer(), GlobalWindowSerializer)
    assert assigner.is_event_time() is False


def test_the_global_window_can_wait_for_the_end_of_the_stream():
    assert isinstance(GlobalWindows.create_with_end_of_stream_trigger().get_default_trigger(), EndOfStreamTrigger)


class Sessions(MergingWindowAssigner.MergeCallback[TimeWindow]):
    """Keeps the open sessions and their members, as a window operator does."""

    def __init__(self, assigner):
        self.assigner = assigner
        self.members: dict[TimeWindow, list[int]] = {}

    def add(self, timestamp):
        for window in self.assigner.assign_windows(timestamp, timestamp, FakeAssignerContext(clock=timestamp)):
            self.members.setdefault(window, []).append(timestamp)
            self.assigner.merge_windows(list(self.members), self)

    def merge(self, to_be_merged, merge_result):
        merged = [member for window in to_be_merged for member in self.members.pop(window)]
        self.members[merge_result] = merged

    def result(self):
        return {(window.start, window.end): sorted(members) for window, members in self.members.items()}


def sessions_of(timestamps, gap, kind=EventTimeSessionWindows):
    sessions = Sessions(kind.with_gap(gap))
    for timestamp in timestamps:
        sessions.add(timestamp)
    return sessions.result()


@pytest.mark.parametrize("kind", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
def test_w_34_session_gap_of_2_s(kind):
    expected = {(1, 6): [1, 2, 4], (7, 10): [7, 8]}
    assert sessions_of([1, 2, 4, 7, 8], 2, kind) == expected


def test_w_35_out_of_order_sessions_merge():
    assert sessions_of([1, 5], 2) == {(1, 3): [1], (5, 7): [5]}
    assert sessions_of([1, 5, 3], 2) == {(1, 7): [1, 3, 5]}


def test_w_64_sessions_of_both_join_sides():
    assert sessions_of([1, 2, 5, 6, 8, 9, 0, 4, 5], 1) == {
        (0, 3): [0, 1, 2],
        (4, 7): [4, 5, 5, 6],
        (8, 10): [8, 9],
    }


@given(st.lists(st.integers(-200, 200), max_size=25), st.integers(1, 20), st.randoms(use_true_random=False))
def test_sessions_do_not_depend_on_the_order_of_arrival(timestamps, gap, random):
    expected: dict[tuple[int, int], list[int]] = {}
    group: list[int] = []
    for timestamp in sorted(timestamps):
        if group and timestamp - group[-1] > gap:
            expected[(group[0], group[-1] + gap)] = group
            group = []
        group.append(timestamp)
    if group:
        expected[(group[0], group[-1] + gap)] = group
    shuffled = list(timestamps)
    random.shuffle(shuffled)
    assert sessions_of(shuffled, gap) == expected


@pytest.mark.parametrize("kind", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
@pytest.mark.parametrize("gap", [0, -1])
def test_session_gaps_are_checked(kind, gap):
    with pytest.raises(ProgramError, match=f"{kind.__name__} needs a gap"):
        kind.with_gap(gap)


@pytest.mark.parametrize("extractor", [FieldGap(), lambda element: element["gap"]])
def test_a_dynamic_gap_comes_from_the_record(extractor):
    event_time = EventTimeSessionWindows.with_dynamic_gap(extractor)
    assert isinstance(event_time, DynamicEventTimeSessionWindows)
    assert spans(event_time.assign_windows({"gap": 7}, 10, None)) == [(10, 17)]
    processing_time = ProcessingTimeSessionWindows.with_dynamic_gap(extractor)
    assert isinstance(processing_time, DynamicProcessingTimeSessionWindows)
    assert spans(processing_time.assign_windows({"gap": 7}, 10, FakeAssignerContext(clock=20))) == [(20, 27)]


def test_a_dynamic_gap_must_be_positive():
    with pytest.raises(ProgramError, match=r"returned 0 \(int\), but a gap must be positive"):
        DynamicEventTimeSessionWindows.with_dynamic_gap(FieldGap()).assign_windows({"gap": 0}, 10, None)


def test_a_gap_extractor_must_be_callable():
    with pytest.raises(TypeError, match="SessionWindowTimeGapExtractor"):
        DynamicProcessingTimeSessionWindows(5)


def fire_count_windows(assigner, values):
    context = FakeAssignerContext()
    driver = TriggerDriver(assigner.get_default_trigger())
    for value in values:
        for window in assigner.assign_windows(value, LONG_MIN, context):
            driver.element(value, LONG_MIN, window)
    return [contents for _, contents in driver.firings], driver


def test_w_15_pyflinks_sliding_count_windows_are_full_ones():
    fired, _ = fire_count_windows(CountSlidingWindowAssigner.of(3, 2), range(1, 10))
    assert [sum(window) for window in fired] == [6, 12, 18, 24]


def test_w_16_pyflinks_count_windows_of_4():
    tumbling_windows, _ = fire_count_windows(CountTumblingWindowAssigner.of(4), range(1, 9))
    assert tumbling_windows == [[1, 2, 3, 4], [5, 6, 7, 8]]
    sliding_windows, _ = fire_count_windows(CountSlidingWindowAssigner.of(4, 2), range(1, 9))
    assert sliding_windows == [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]


def test_count_windows_with_a_slide_longer_than_the_size_skip_records():
    fired, _ = fire_count_windows(CountSlidingWindowAssigner.of(2, 5), range(1, 13))
    assert fired == [[1, 2], [6, 7], [11, 12]]


def test_a_fired_count_window_leaves_nothing_behind():
    _, driver = fire_count_windows(CountTumblingWindowAssigner.of(3), range(1, 10))
    assert driver.is_clean()
    assert not any(driver.contents.values())


def test_count_windows_are_numbered():
    context = FakeAssignerContext()
    assigner = CountTumblingWindowAssigner(2)
    numbers = [list(assigner.assign_windows("x", LONG_MIN, context)) for _ in range(3)]
    assert numbers == [[CountWindow(0)], [CountWindow(0)], [CountWindow(1)]]
    assert assigner.is_event_time() is False
    assert isinstance(assigner.get_window_serializer(), CountWindowSerializer)


def test_count_windows_need_positive_numbers():
    with pytest.raises(ProgramError, match="at least one record"):
        CountTumblingWindowAssigner.of(0)
    with pytest.raises(ProgramError, match="at least one record"):
        CountSlidingWindowAssigner.of(3, 0)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(5),
        SlidingProcessingTimeWindows.of(5, 2, 1),
        EventTimeSessionWindows.with_gap(5),
        DynamicEventTimeSessionWindows(lambda _: 5),
        GlobalWindows.create(),
        CountSlidingWindowAssigner.of(3, 2),
    ],
)
def test_assigners_travel_to_the_workers(assigner):
    copy = pickle.loads(cloudpickle.dumps(assigner))
    assert type(copy) is type(assigner)
    assert list(copy.assign_windows("x", 12, FakeAssignerContext(clock=12))) == list(
        assigner.assign_windows("x", 12, FakeAssignerContext(clock=12))
    )


def test_assigners_show_their_lengths():
    assert repr(TumblingEventTimeWindows.of(5000, 10)) == "TumblingEventTimeWindows(5000, 10)"
    assert repr(SlidingEventTimeWindows.of(5000, 1000)) == "SlidingEventTimeWindows(5000, 1000, 0)"
    assert repr(EventTimeSessionWindows.with_gap(7)) == "EventTimeSessionWindows(7)"


class EvenAndOdd(WindowAssigner[int, CountWindow]):
    """An assigner as a user writes it, with PyFlink's signatures."""

    def assign_windows(self, element, timestamp, context):
        return [CountWindow(element % 2)]

    def get_default_trigger(self, env):
        return NeverTrigger()

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


def test_users_write_their_own_assigners():
    assert EvenAndOdd().assign_windows(3, 0, None) == [CountWindow(1)]
    assert EvenAndOdd().get_default_trigger(None).on_element(3, 0, None, None) is TriggerResult.CONTINUE
