from __future__ import annotations

import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.vocabulary.windows.assigners import MergingWindowAssigner
from penstock.vocabulary.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.vocabulary.windows.windows import CountWindow, GlobalWindow, TimeWindow, Window

LONG_MAX = 9223372036854775807


class Recorder(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self):
        self.merges = []

    def merge(self, to_be_merged, merge_result):
        self.merges.append((sorted(to_be_merged), merge_result))


def merges_of(*windows):
    recorder = Recorder()
    TimeWindow.merge_windows(windows, recorder)
    return recorder.merges


def test_a_time_window_excludes_its_end():
    window = TimeWindow(0, 5000)
    assert (window.start, window.end) == (0, 5000)
    assert window.max_timestamp() == 4999


@pytest.mark.parametrize("window", [TimeWindow(0, 5), CountWindow(3), GlobalWindow.get()])
def test_built_in_windows_are_windows(window):
    assert isinstance(window, Window)


def test_windows_cannot_be_changed():
    with pytest.raises(AttributeError):
        TimeWindow(0, 5).start = 1
    with pytest.raises(AttributeError):
        TimeWindow(0, 5).other = 1


def test_time_windows_compare_by_start_then_end():
    assert TimeWindow(0, 5) == TimeWindow(0, 5)
    assert TimeWindow(0, 5) != TimeWindow(0, 6)
    assert len({TimeWindow(0, 5), TimeWindow(0, 5), TimeWindow(5, 10)}) == 2
    assert sorted([TimeWindow(5, 6), TimeWindow(0, 9), TimeWindow(0, 5)]) == [
        TimeWindow(0, 5),
        TimeWindow(0, 9),
        TimeWindow(5, 6),
    ]
    assert TimeWindow(0, 5) <= TimeWindow(0, 5)


def test_time_windows_of_keywords_and_their_text():
    assert repr(TimeWindow(start=1, end=2)) == "TimeWindow(start=1, end=2)"


def test_count_windows_never_end():
    assert CountWindow(2).id == 2
    assert CountWindow(2).max_timestamp() == LONG_MAX
    assert CountWindow(2) == CountWindow(2)
    assert CountWindow(1) < CountWindow(2)
    assert repr(CountWindow(2)) == "CountWindow(id=2)"


def test_there_is_one_global_window():
    assert GlobalWindow.get() is GlobalWindow()
    assert GlobalWindow.get().max_timestamp() == LONG_MAX
    assert not GlobalWindow.get() < GlobalWindow.get()
    assert repr(GlobalWindow.get()) == "GlobalWindow"


@pytest.mark.parametrize("window", [TimeWindow(-5, 5), CountWindow(3), GlobalWindow.get()])
def test_windows_survive_pickling(window):
    copy = pickle.loads(pickle.dumps(window))
    assert copy == window
    assert type(copy) is type(window)
    assert hash(copy) == hash(window)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (TimeWindow(5, 10), True),
        (TimeWindow(-5, 0), True),
        (TimeWindow(2, 3), True),
        (TimeWindow(-9, 9), True),
        (TimeWindow(6, 10), False),
        (TimeWindow(-5, -1), False),
    ],
)
def test_touching_windows_intersect(other, expected):
    assert TimeWindow(0, 5).intersects(other) is expected
    assert other.intersects(TimeWindow(0, 5)) is expected


def test_cover_is_the_smallest_window_around_both():
    assert TimeWindow(0, 5).cover(TimeWindow(7, 9)) == TimeWindow(0, 9)
    assert TimeWindow(0, 9).cover(TimeWindow(2, 3)) == TimeWindow(0, 9)


@pytest.mark.parametrize(
    ("timestamp", "offset", "size", "start"),
    [
        (1549044125000, 0, 5000, 1549044125000),
        (1549044122000, 0, 5000, 1549044120000),
        (1234, 0, 5000, 0),
        (7000, 0, 5000, 5000),
        (7000, 1000, 5000, 6000),
    ],
)
def test_w_21_start_formula(timestamp, offset, size, start):
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, size) == start


@given(st.integers(-(10**6), 10**6), st.integers(1, 5000), st.data())
def test_an_aligned_window_contains_its_timestamp(timestamp, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_merging_reports_each_group_with_its_cover():
    assert merges_of(TimeWindow(7, 9), TimeWindow(0, 2), TimeWindow(8, 12), TimeWindow(1, 3), TimeWindow(20, 21)) == [
        ([TimeWindow(0, 2), TimeWindow(1, 3)], TimeWindow(0, 3)),
        ([TimeWindow(7, 9), TimeWindow(8, 12)], TimeWindow(7, 12)),
    ]


def test_merging_keeps_the_reach_of_a_long_window():
    windows = [TimeWindow(0, 100), TimeWindow(1, 2), TimeWindow(50, 60)]
    assert merges_of(*windows) == [(windows, TimeWindow(0, 100))]


def test_merging_reports_nothing_for_windows_that_stand_alone():
    assert merges_of() == []
    assert merges_of(TimeWindow(0, 2), TimeWindow(3, 5)) == []
    assert merges_of(TimeWindow(0, 2), TimeWindow(0, 2)) == []


def test_w_35_a_window_that_touches_two_others_merges_all():
    assert merges_of(TimeWindow(1, 3), TimeWindow(5, 7), TimeWindow(3, 5)) == [
        ([TimeWindow(1, 3), TimeWindow(3, 5), TimeWindow(5, 7)], TimeWindow(1, 7))
    ]


@pytest.mark.parametrize(
    ("serializer", "window", "data"),
    [
        (TimeWindowSerializer(), TimeWindow(-1, 5), b"\xff" * 8 + b"\0" * 7 + b"\5"),
        (CountWindowSerializer(), CountWindow(258), b"\0" * 6 + b"\1\2"),
        (GlobalWindowSerializer(), GlobalWindow.get(), b"\0"),
    ],
)
def test_windows_are_written_as_big_endian_longs(serializer, window, data):
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    assert stream.getvalue() == data * 2
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert serializer.deserialize(stream) == window
