from __future__ import annotations

import pickle
from datetime import timedelta

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import Time
from penstock.vocabulary.windows.delta_function import DeltaFunction
from penstock.vocabulary.windows.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from penstock.vocabulary.windows.windows import GlobalWindow


class FakeEvictorContext(Evictor.EvictorContext):
    def get_current_processing_time(self):
        return 0

    def get_metric_group(self):
        return None

    def get_current_watermark(self):
        return 0


class Distance(DeltaFunction[int]):
    def get_delta(self, old_data_point, new_data_point):
        return abs(new_data_point - old_data_point)


def run(evictor, pairs):
    """Returns what is left before the window function, and what is left after it."""
    elements = [TimestampedValue(value, timestamp) for value, timestamp in pairs]
    evictor.evict_before(elements, len(elements), GlobalWindow.get(), FakeEvictorContext())
    before = [element.value for element in elements]
    evictor.evict_after(elements, len(elements), GlobalWindow.get(), FakeEvictorContext())
    return before, [element.value for element in elements]


VALUES = [("a", 5), ("b", 1), ("c", 9), ("d", 4)]


def test_a_timestamped_value_knows_whether_it_has_a_timestamp():
    assert TimestampedValue("a", 5).get_value() == "a"
    assert TimestampedValue("a", 5).get_timestamp() == 5
    assert TimestampedValue("a", 5).has_timestamp() is True
    assert TimestampedValue("a").has_timestamp() is False
    assert TimestampedValue("a", 5) == TimestampedValue("a", 5)


@pytest.mark.parametrize(
    ("keep", "kept"), [(5, ["a", "b", "c", "d"]), (4, ["a", "b", "c", "d"]), (3, ["b", "c", "d"]), (0, [])]
)
def test_the_count_evictor_keeps_the_last_records(keep, kept):
    assert run(CountEvictor.of(keep), VALUES) == (kept, kept)


def test_the_count_evictor_can_work_after_the_window_function():
    assert run(CountEvictor.of(1, True), VALUES) == (["a", "b", "c", "d"], ["d"])
    assert run(CountEvictor.of(1, do_evict_after=True), VALUES) == (["a", "b", "c", "d"], ["d"])


def test_the_count_evictor_cannot_keep_fewer_than_none():
    with pytest.raises(ProgramError, match="CountEvictor"):
        CountEvictor.of(-1)


def test_w_15_javas_sliding_count_windows_are_a_count_trigger_and_a_count_evictor():
    window: list[TimestampedValue[int]] = []
    sums = []
    evictor = CountEvictor.of(3)
    for number in range(1, 10):
        window.append(TimestampedValue(number))
        if number % 2 == 0:
            evictor.evict_before(window, len(window), GlobalWindow.get(), FakeEvictorContext())
            sums.append(sum(element.value for element in window))
    assert sums == [3, 9, 15, 21]


def test_the_time_evictor_counts_from_the_latest_timestamp_wherever_it_is():
    # The latest is 9; with 5 ms kept, 4 is exactly too old.
    assert run(TimeEvictor.of(5), VALUES) == (["a", "c"], ["a", "c"])
    assert run(TimeEvictor.of(6), VALUES) == (["a", "c", "d"], ["a", "c", "d"])


def test_the_time_evictor_can_work_after_the_window_function():
    assert run(TimeEvictor.of(5, do_evict_after=True), VALUES) == (["a", "b", "c", "d"], ["a", "c"])


def test_the_time_evictor_keeps_records_without_timestamps():
    assert run(TimeEvictor.of(5), [("a", None), ("b", None)]) == (["a", "b"], ["a", "b"])
    assert run(TimeEvictor.of(5), []) == ([], [])


def test_the_time_evictor_takes_every_form_of_length():
    for length in (Time.seconds(5), timedelta(seconds=5), 5000):
        assert TimeEvictor.of(length).window_size == 5000


@pytest.mark.parametrize("delta", [Distance(), lambda old, new: abs(new - old)])
def test_the_delta_evictor_removes_what_is_too_far_from_the_last_record(delta):
    # Distances to the last record, 10: 9, 3, 5, 0. A distance that equals the threshold is too far.
    pairs = [(1, 0), (7, 0), (15, 0), (10, 0)]
    assert run(DeltaEvictor.of(5, delta), pairs) == ([7, 10], [7, 10])
    assert run(DeltaEvictor.of(5, delta, do_evict_after=True), pairs) == ([1, 7, 15, 10], [7, 10])


def test_the_delta_evictor_leaves_an_empty_window_alone():
    assert run(DeltaEvictor.of(5, Distance()), []) == ([], [])


@given(st.lists(st.tuples(st.integers(), st.integers(-1000, 1000)), max_size=20), st.integers(0, 500))
def test_the_time_evictor_keeps_exactly_what_is_younger(pairs, size):
    latest = max((timestamp for _, timestamp in pairs), default=0)
    kept = [value for value, timestamp in pairs if latest - timestamp < size]
    assert run(TimeEvictor.of(size), pairs) == (kept, kept)


@pytest.mark.parametrize(
    "evictor", [CountEvictor.of(2), TimeEvictor.of(5), DeltaEvictor.of(5, lambda old, new: abs(ord(new) - ord(old)))]
)
def test_evictors_travel_to_the_workers(evictor):
    copy = pickle.loads(cloudpickle.dumps(evictor))
    assert run(copy, VALUES) == run(evictor, VALUES)
