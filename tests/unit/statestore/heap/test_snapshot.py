"""Snapshots of the heap backend: what they hold, that they stand still, and rescaling by key group."""

import threading
from dataclasses import dataclass

import pytest

from penstock.errors import CheckpointError, ProgramError, StateRestoreError
from penstock.foundation.keys.groups import key_group_of, key_group_range
from penstock.statestore.backend import KeyContext
from penstock.statestore.copying import are_plain
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.statestore.heap.table import Guard
from penstock.statestore.snapshot_format import EVENT_TIME, BytesInput, KeyedStateReader, Timer
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

ALL = range(128)


class Gather(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator):
        return tuple(accumulator)

    def merge(self, a, b):
        return a + b


VALUE = ValueStateDescriptor("value")
LIST = ListStateDescriptor("list")
MAP = MapStateDescriptor("map")
REDUCING = ReducingStateDescriptor("reducing", lambda a, b: a + b)
AGGREGATING = AggregatingStateDescriptor("aggregating", Gather())
DESCRIPTORS = (VALUE, LIST, MAP, REDUCING, AGGREGATING)


class Store:
    """A backend with its handles and a current key."""

    def __init__(self):
        self.keys = KeyContext()
        self.backend = HeapStateBackend(self.keys, "op-1")

    def __getattr__(self, name):
        descriptor = next((each for each in DESCRIPTORS if each.name == name), None)
        if descriptor is None:
            raise AttributeError(name)
        handle = self.backend.state(descriptor)
        setattr(self, name, handle)
        return handle

    def at(self, key):
        self.keys.key = key
        return self

    def snapshot(self, key_groups=ALL, timers=()):
        return self.backend.snapshot(key_groups, 128, timers)

    def content(self, key):
        self.at(key)
        value, items, entries = self.value.value(), list(self.list.get()), dict(self.map.items())
        return value, items, entries, self.reducing.get(), self.aggregating.get()


def encoded(snapshot):
    written = []
    snapshot.encode(written.extend)
    return b"".join(written)


def restored(*data, key_groups=ALL):
    store = Store()
    timers = store.backend.restore([KeyedStateReader(BytesInput(each)) for each in data], key_groups, 128)
    return store, timers


def filled(keys):
    store = Store()
    for number, key in enumerate(keys):
        store.at(key)
        store.value.update(number)
        store.list.add_all([number, str(number)])
        store.map.put_all({"n": number, number: None})
        store.reducing.add(number)
        store.reducing.add(1)
        store.aggregating.add(number)
        store.aggregating.add("x")
    return store


def expected(number):
    return number, [number, str(number)], {"n": number, number: None}, number + 1, (number, "x")


KEYS = [*range(50), "a", "水", 1.5, ("a", 1), b"k", None]


def test_all_kinds_of_state_come_back():
    store, _ = restored(encoded(filled(KEYS).snapshot()))
    assert [store.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]


def test_namespaces_come_back():
    store = Store()
    state = store.backend.value_state(VALUE, ("window", 1))
    store.at("k")
    state.update("first")
    state.set_namespace(("window", 2))
    state.update("second")
    again, _ = restored(encoded(store.snapshot()))
    again.at("k")
    handle = again.backend.value_state(VALUE, ("window", 2))
    assert handle.value() == "second"
    handle.set_namespace(("window", 1))
    assert handle.value() == "first"
    assert again.value.value() is None


def test_state_that_the_program_does_not_ask_for_is_kept():
    store, _ = restored(encoded(filled([1]).snapshot()))
    store, _ = restored(encoded(store.snapshot()))
    assert store.content(1) == expected(0)


def test_rescaling_2_3_1_4_keeps_every_key_and_every_timer():
    everything = filled(KEYS)
    all_timers = [Timer(number, key, ("w", number), EVENT_TIME) for number, key in enumerate(KEYS)]
    data = [encoded(everything.snapshot(ALL, all_timers))]
    for parallelism in (2, 3, 1, 4):
        stores = []
        for subtask in range(parallelism):
            groups = key_group_range(subtask, parallelism, 128)
            store, timers = restored(*data, key_groups=groups)
            assert all(key_group_of(timer.key, 128) in groups for timer in timers)
            stores.append((store, groups, timers))
        assert sorted((t for _, _, timers in stores for t in timers), key=lambda t: t.timestamp) == all_timers
        for number, key in enumerate(KEYS):
            for store, groups, _ in stores:
                mine = key_group_of(key, 128) in groups
                assert store.content(key) == (expected(number) if mine else (None, [], {}, None, None))
        data = [encoded(store.snapshot(groups, timers)) for store, groups, timers in stores]


def test_a_snapshot_stands_still_while_records_go_on():
    store = filled(KEYS)
    snapshot = store.snapshot()
    for key in KEYS:
        store.at(key)
        store.value.update("changed")
        store.list.add("changed")
        store.map.put("n", "changed")
        store.map.remove(0)
        store.reducing.add(100)
        store.aggregating.add("changed")
    store.at("a").list.clear()
    store.at("new").value.update(1)
    again, _ = restored(encoded(snapshot))
    assert [again.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]
    assert again.content("new") == (None, [], {}, None, None)
    assert store.content(3)[1] == [3, "3", "changed"]


@dataclass
class Box:
    items: list


MUTABLE = {"list": [1], "dict": {"a": [1]}, "object": Box([1]), "tuple": ([1],), "set": {1}}


def mutate(value):
    match value:
        case list():
            value.append(2)
        case dict():
            value["a"].append(2)
        case Box():
            value.items.append(2)
        case tuple():
            value[0].append(2)
        case set():
            value.add(2)
    return value


@pytest.mark.parametrize("make", MUTABLE, ids=str)
@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_values_changed_in_place_after_they_were_read_do_not_reach_the_snapshot(make, kind):
    def fresh():
        return {"list": [1], "dict": {"a": [1]}, "object": Box([1]), "tuple": ([1],), "set": {1}}[make]

    def read(store):
        store.at("k")
        return {"value": store.value.value, "list": lambda: store.list.get()[0], "map": lambda: store.map.get("m")}[
            kind
        ]()

    store = Store().at("k")
    store.value.update(fresh())
    store.list.add(fresh())
    store.map.put("m", fresh())
    snapshot = store.snapshot()
    store.list.add("another")
    changed = mutate(read(store))
    assert read(store) == changed, "the program sees its own change"
    again, _ = restored(encoded(snapshot))
    assert read(again) == fresh()
    assert read(store) == changed, "also after the snapshot is stored"
    later, _ = restored(encoded(store.snapshot()))
    assert read(later) == changed


@pytest.mark.parametrize("make", MUTABLE, ids=str)
def test_dictionaries_that_an_operator_works_on_directly_are_copied(make):
    store = Store()
    entries = store.backend.entries(VALUE)
    entries["k"] = {"list": [1], "dict": {"a": [1]}, "object": Box([1]), "tuple": ([1],), "set": {1}}[make]
    entries["n"] = 5
    snapshot = store.snapshot()
    mutate(entries["k"])
    entries["n"] = 6
    again, _ = restored(encoded(snapshot))
    assert again.at("k").value.value() == MUTABLE[make]
    assert again.at("n").value.value() == 5
    assert store.backend.entries(VALUE) is entries


def test_concurrent_snapshots_each_hold_their_own_moment():
    store = Store().at("k")
    store.value.update({"n": [0]})
    first = store.snapshot()
    store.value.value()["n"].append(1)
    second = store.snapshot()
    store.value.value()["n"].append(2)
    data = encoded(first)
    store.value.value()["n"].append(3)
    third = store.snapshot()
    third.discard()
    store.value.value()["n"].append(4)
    assert restored(data)[0].at("k").value.value() == {"n": [0]}
    assert restored(encoded(second))[0].at("k").value.value() == {"n": [0, 1]}
    assert store.value.value() == {"n": [0, 1, 2, 3, 4]}


def test_handles_made_during_a_snapshot_are_guarded_too():
    store = Store().at("k")
    store.value.update([1])
    snapshot = store.snapshot()
    late = store.backend.value_state(VALUE)
    late.value().append(2)
    assert restored(encoded(snapshot))[0].at("k").value.value() == [1]
    assert store.value.value() == [1, 2]


def test_after_a_snapshot_handles_look_into_the_dictionary_itself():
    store = Store().at("k")
    store.value.update(1)
    entries = store.value._entries
    encoded(store.snapshot())
    assert store.value._entries is entries
    assert type(entries) is dict
    snapshot = store.snapshot()
    snapshot.discard()
    snapshot.discard()
    assert store.value._entries is entries


@pytest.mark.parametrize(
    ("value", "kind"), [(7, dict), ("text", dict), ((1, "text"), dict), ([1], Guard), ((1, [2]), Guard)]
)
def test_only_what_can_be_changed_is_guarded_while_it_is_written(value, kind):
    store = Store().at("k")
    store.value.update(value)
    snapshot = store.snapshot()
    assert type(store.value._entries) is Guard
    kinds = []
    snapshot.encode(lambda _: kinds.append(type(store.value._entries)))
    assert set(kinds) == {kind}
    assert type(store.value._entries) is dict


@pytest.mark.parametrize(
    ("values", "is_plain"),
    [
        ([], True),
        ([()], True),
        ([1, (2, "a")], True),
        ([(1,), (2, None), ()], True),
        ([(1, "a"), (2, 3.5)], True),
        ([1, [2]], False),
        ([(1, "a"), (2, ["a"])], False),
        ([(1,), (2, {})], False),
        ([((1,), 2)], False),
        ([object()], False),
        ([*range(1000), [1]], False),
        ([*((n, n) for n in range(1000)), (1, [2])], False),
        ([True, 1, None, b"", (b"", True)], True),
    ],
)
def test_what_nobody_can_change(values, is_plain):
    assert are_plain(values) == is_plain


@pytest.mark.parametrize(
    ("value", "is_copied"), [(7, False), ("text", False), ((1, "text"), False), ([1], True), ((1, [2]), True)]
)
def test_only_what_can_be_changed_is_copied_while_it_is_written(value, is_copied):
    store = Store().at("k")
    store.value.update(value)
    snapshot = store.snapshot()
    assert type(store.value._entries) is Guard
    assert (store.value.value() is not value) == is_copied
    assert store.value.value() == value
    snapshot.discard()
    assert type(store.value._entries) is dict


def test_one_of_two_snapshots_does_not_thaw_what_the_other_needs():
    store = Store().at("k")
    store.value.update((1, "text"))
    first = store.snapshot()
    store.value.update([1])
    second = store.snapshot()
    encoded(first)
    store.value.value().append(2)
    assert restored(encoded(second))[0].at("k").value.value() == [1]


def test_a_failed_encoding_lets_the_state_go():
    store = Store().at("k")
    store.value.update(threading.Lock())
    with pytest.raises(CheckpointError, match="lock"):
        encoded(store.snapshot())
    assert type(store.value._entries) is dict


def test_a_restored_state_of_another_kind_is_refused():
    store, _ = restored(encoded(filled([1]).snapshot()))
    with pytest.raises(StateRestoreError, match="ValueStateDescriptor and ListStateDescriptor") as caught:
        store.backend.list_state(ListStateDescriptor("value"))
    assert (caught.value.operator, caught.value.state) == ("op-1", "value")


def test_a_state_declared_twice_with_different_kinds_is_refused():
    store = filled([1])
    with pytest.raises(ProgramError, match="declared twice"):
        store.backend.list_state(ListStateDescriptor("value"))


def test_another_max_parallelism_is_refused():
    data = encoded(filled([1]).snapshot())
    with pytest.raises(StateRestoreError, match=r"set_max_parallelism\(128\)"):
        Store().backend.restore([KeyedStateReader(BytesInput(data))], range(64), 64)


def test_a_key_outside_of_the_subtasks_key_groups_is_an_error_and_not_a_loss():
    store = Store().at("k")
    store.value.update(1)
    foreign = range(key_group_of("k", 128))
    with pytest.raises(CheckpointError, match="key group"):
        encoded(store.snapshot(foreign))


def test_values_that_share_a_text_are_stored_with_one_copy_of_it():
    shared, store = "a long text " * 100, Store()
    for key in range(1000):
        store.at(key).value.update((key, shared))
    data = encoded(store.snapshot())
    assert len(data) < 300 * len(shared)
    assert restored(data)[0].at(7).value.value() == (7, shared)


def test_values_of_their_own_are_stored_as_they_are():
    store = Store()
    for key in range(5000):
        store.at(key).value.update((key, f"text {key}"))
    copy = restored(encoded(store.snapshot()))[0]
    assert [copy.at(key).value.value() for key in range(5000)] == [(key, f"text {key}") for key in range(5000)]
