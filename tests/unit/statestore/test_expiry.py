"""Time to live of state: who sees what when, what renews it, and how it is cleaned up (KST-15)."""

from __future__ import annotations

import pytest

from penstock.foundation.clock import ManualClock
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.statestore.snapshot_format import BytesInput, KeyedStateReader
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.state.ttl import StateTtlConfig
from penstock.vocabulary.time.durations import Duration

ALL = range(128)


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value

    def get_result(self, accumulator):
        return f"={accumulator}"

    def merge(self, a, b):
        return a + b


class Store:
    """A heap backend with a clock that is moved by hand."""

    def __init__(self, start=1000):
        self.clock = ManualClock(start)
        self.keys = KeyContext()
        self.backend = HeapStateBackend(self.keys, "op", self.clock.now)
        self.keys.key = "k"

    def state(self, descriptor, ttl=None):
        if ttl is not None:
            descriptor.enable_time_to_live(ttl.build() if isinstance(ttl, StateTtlConfig.Builder) else ttl)
        return self.backend.state(descriptor)

    def encoded(self):
        written = []
        self.backend.snapshot(ALL, 128).encode(written.extend)
        return b"".join(written)

    def restored(self, data=None):
        again = Store(self.clock.now())
        reader = KeyedStateReader(BytesInput(self.encoded() if data is None else data))
        again.backend.restore([reader], ALL, 128)
        return again


def ttl(millis=100):
    return StateTtlConfig.new_builder(Duration.of_millis(millis)).disable_cleanup_in_background()


def stored(store, name):
    """What is really there, expired or not."""
    table = store.backend._tables[name]
    return {key: value for entries in table.namespaces.values() for key, value in entries.items()}


def test_a_value_expires_ttl_after_it_was_written():
    store = Store()
    state = store.state(ValueStateDescriptor("v"), ttl())
    state.update("x")
    store.clock.advance(99)
    assert state.value() == "x"
    store.clock.advance(1)
    assert state.value() is None
    assert stored(store, "v") == {}, "reading has removed it"


def test_reading_does_not_renew_unless_asked():
    for builder, expected in ((ttl(), None), (ttl().update_ttl_on_read_and_write(), "x")):
        store = Store()
        state = store.state(ValueStateDescriptor("v"), builder)
        state.update("x")
        store.clock.advance(60)
        assert state.value() == "x"
        store.clock.advance(60)
        assert state.value() == expected


def test_writing_renews():
    store = Store()
    state = store.state(ValueStateDescriptor("v"), ttl())
    state.update("x")
    store.clock.advance(60)
    state.update("y")
    store.clock.advance(60)
    assert state.value() == "y"


def test_expired_values_may_be_seen_once_before_they_are_gone():
    store = Store()
    state = store.state(ValueStateDescriptor("v"), ttl().return_expired_if_not_cleaned_up())
    state.update("x")
    store.clock.advance(500)
    assert state.value() == "x"
    assert state.value() is None


def test_an_expired_value_reads_as_the_default():
    store = Store()
    state = store.state(ValueStateDescriptor("v", None, 7), ttl())
    assert state.value() == 7
    assert stored(store, "v") == {}
    state.update(8)
    store.clock.advance(100)
    assert state.value() == 7


def test_keys_and_namespaces_expire_apart():
    store = Store()
    state = store.state(ValueStateDescriptor("v"), ttl())
    state.update("early")
    store.clock.advance(50)
    store.keys.key = "other"
    state.update("late")
    state.set_namespace(("w", 1))
    state.update("window")
    store.clock.advance(60)
    assert state.value() == "window"
    state.set_namespace(None)
    assert state.value() == "late"
    store.keys.key = "k"
    assert state.value() is None


def test_each_element_of_a_list_has_its_own_time():
    store = Store()
    state = store.state(ListStateDescriptor("l"), ttl())
    state.add(1)
    store.clock.advance(60)
    state.add_all([2, 3])
    assert list(state.get()) == [1, 2, 3]
    store.clock.advance(60)
    assert list(state) == [2, 3]
    assert stored(store, "l") == {"k": [2, 3]}
    state.update([9])
    store.clock.advance(100)
    assert list(state.get()) == []
    assert stored(store, "l") == {}


def test_reading_a_list_renews_all_its_elements_if_asked():
    store = Store()
    state = store.state(ListStateDescriptor("l"), ttl().update_ttl_on_read_and_write())
    state.add(1)
    store.clock.advance(60)
    assert state.get() == [1]
    store.clock.advance(60)
    assert state.get() == [1]


def test_expired_elements_of_a_list_may_be_seen_once():
    store = Store()
    state = store.state(ListStateDescriptor("l"), ttl().return_expired_if_not_cleaned_up())
    state.add(1)
    store.clock.advance(60)
    state.add(2)
    store.clock.advance(60)
    assert state.get() == [1, 2]
    assert state.get() == [2]


def test_each_entry_of_a_map_has_its_own_time():
    store = Store()
    state = store.state(MapStateDescriptor("m"), ttl())
    state.put("a", 1)
    store.clock.advance(60)
    state.put_all({"b": 2, "n": None})
    store.clock.advance(60)
    assert state.get("a") is None
    assert not state.contains("a")
    assert sorted(state.items()) == [("b", 2), ("n", None)]
    assert sorted(state.keys()) == ["b", "n"]
    assert sorted(state.values(), key=str) == [2, None]
    assert state.contains("n")
    state.remove("n")
    assert not state.is_empty()
    store.clock.advance(100)
    assert state.is_empty()
    assert stored(store, "m") == {}


def test_reading_an_entry_renews_that_entry_only():
    store = Store()
    state = store.state(MapStateDescriptor("m"), ttl().update_ttl_on_read_and_write())
    state.put_all({"a": 1, "b": 2})
    store.clock.advance(60)
    assert state["a"] == 1
    store.clock.advance(60)
    assert state.items() == [("a", 1)]


@pytest.mark.parametrize(
    ("descriptor", "first", "second"),
    [
        (ReducingStateDescriptor("r", lambda a, b: a + b), 3, 5),
        (AggregatingStateDescriptor("a", Sum()), "=3", "=5"),
    ],
    ids=["reducing", "aggregating"],
)
def test_what_is_expired_does_not_count_in_what_is_added_later(descriptor, first, second):
    store = Store()
    state = store.state(descriptor, ttl())
    assert state.get() is None
    state.add(1)
    store.clock.advance(50)
    state.add(2)
    store.clock.advance(99)
    assert state.get() == first
    store.clock.advance(1)
    state.add(5)
    assert state.get() == second
    store.clock.advance(100)
    assert state.get() is None


def test_clear_forgets_the_time_too():
    store = Store()
    state = store.state(ValueStateDescriptor("v"), ttl())
    state.update("x")
    state.clear()
    assert state.value() is None
    assert all(not stored(store, name) for name in store.backend._tables)


def test_times_survive_a_restart():
    store = Store()
    state = store.state(ListStateDescriptor("l"), ttl())
    state.add(1)
    store.clock.advance(60)
    state.add(2)
    again = store.restored()
    again.clock.advance(60)
    assert again.state(ListStateDescriptor("l"), ttl()).get() == [2]


@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_switching_a_time_to_live_on_keeps_old_state_and_starts_its_life_when_it_is_seen(kind):
    store = Store()
    make = {"value": ValueStateDescriptor, "list": ListStateDescriptor, "map": MapStateDescriptor}[kind]
    write = {"value": lambda s: s.update(1), "list": lambda s: s.add(1), "map": lambda s: s.put("a", 1)}[kind]
    read = {"value": lambda s: s.value(), "list": lambda s: s.get(), "map": lambda s: s.items()}[kind]
    content, empty = {"value": (1, None), "list": ([1], []), "map": ([("a", 1)], [])}[kind]
    write(store.state(make("s")))
    again = store.restored()
    again.clock.advance(1000)
    state = again.state(make("s"), ttl())
    assert read(state) == content
    again.clock.advance(99)
    assert read(state) == content
    again.clock.advance(1)
    assert read(state) == empty


def test_a_list_with_and_without_times_keeps_the_times_it_has():
    store = Store()
    store.state(ListStateDescriptor("l")).add("old")
    again = store.restored()
    state = again.state(ListStateDescriptor("l"), ttl())
    state.add("new")
    again.clock.advance(60)
    assert state.get() == ["old", "new"], "the old one begins to live now"
    again.clock.advance(60)
    assert state.get() == ["old"]


def test_switching_a_time_to_live_off_keeps_the_state_for_ever():
    store = Store()
    store.state(ValueStateDescriptor("v"), ttl()).update("x")
    again = store.restored()
    again.clock.advance(10_000)
    assert again.state(ValueStateDescriptor("v")).value() == "x"
    once_more = again.restored()
    assert once_more.state(ValueStateDescriptor("v"), ttl()).value() == "x", "and old times do not come back"


def test_a_full_snapshot_leaves_out_what_is_expired_but_the_job_keeps_it():
    store = Store()
    builder = ttl().cleanup_full_snapshot()
    value = store.state(ValueStateDescriptor("v"), builder)
    items = store.state(ListStateDescriptor("l"), builder)
    entries = store.state(MapStateDescriptor("m"), builder)
    kept = store.state(ValueStateDescriptor("kept"), ttl())
    for state in (value, kept):
        state.update("x")
    items.add(1)
    entries.put("a", 1)
    store.clock.advance(60)
    items.add(2)
    entries.put("b", 2)
    store.clock.advance(60)
    again = store.restored()
    assert stored(again, "kept") == {"k": "x"}
    assert "v" not in again.backend._tables
    assert stored(again, "l") == {"k": [2]}
    assert stored(again, "m") == {"k": {"b": 2}}
    assert stored(store, "v") == {"k": "x"}
    assert stored(store, "l") == {"k": [1, 2]}
    assert again.state(ListStateDescriptor("l"), builder).get() == [2]


def fill(store, state, keys):
    for key in keys:
        store.keys.key = key
        state.update(key)


def test_each_access_looks_at_a_few_other_entries():
    store = Store()
    builder = StateTtlConfig.new_builder(Duration.of_millis(100)).cleanup_incrementally(3, False)
    state = store.state(ValueStateDescriptor("v"), builder)
    fill(store, state, range(10))
    store.clock.advance(100)
    store.keys.key = "new"
    for _ in range(12):
        state.update("fresh")
        assert store.keys.key == "new"
    assert stored(store, "v") == {"new": "fresh"}


def test_the_heap_cleans_up_by_itself_unless_told_not_to():
    for builder, left in ((StateTtlConfig.new_builder(Duration.of_millis(100)), 1), (ttl(), 11)):
        store = Store()
        state = store.state(ValueStateDescriptor("v"), builder)
        fill(store, state, range(10))
        store.clock.advance(100)
        store.keys.key = "new"
        for _ in range(10):
            state.update("fresh")
        assert len(stored(store, "v")) == left


def test_each_record_may_clean_up_without_touching_the_state():
    store = Store()
    builder = StateTtlConfig.new_builder(Duration.of_millis(100)).cleanup_incrementally(3, True)
    state = store.state(ListStateDescriptor("l"), builder)
    for key in range(10):
        store.keys.key = key
        state.add(key)
    store.clock.advance(100)
    for record in range(12):
        store.keys.key = ("record", record)
        assert store.keys.key == ("record", record)
    assert stored(store, "l") == {}
