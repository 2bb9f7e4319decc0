"""Keyed state in RocksDB: the same meaning as on the heap, incremental snapshots, rescaling, time to live."""

from __future__ import annotations

import dataclasses
import gc
import sys
import types
from dataclasses import dataclass

import pytest

pytest.importorskip("rocksdict")

from penstock.checkpoint.snapshot_storage import FileTarget, StoredFiles
from penstock.errors import ProgramError, StateRestoreError
from penstock.foundation.clock import ManualClock
from penstock.foundation.files.local import LocalFiles
from penstock.foundation.keys.groups import key_group_of, key_group_range
from penstock.statestore.backend import KeyContext
from penstock.statestore.handles import ENTRIES, ROCKSDB
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.statestore.open_backend import open_backend
from penstock.statestore.rocksdb.backend import RocksDBKeyedStateBackend
from penstock.statestore.snapshot_format import EVENT_TIME, BytesInput, KeyedStateReader, Timer
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.state.backends import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
)
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.state.ttl import StateTtlConfig
from penstock.vocabulary.time.durations import Duration
from penstock.vocabulary.windows.windows import TimeWindow

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


@dataclass(frozen=True)
class Key:
    first: str
    second: str


VALUE = ValueStateDescriptor("value")
LIST = ListStateDescriptor("list")
MAP = MapStateDescriptor("map")
REDUCING = ReducingStateDescriptor("reducing", lambda a, b: a + b)
AGGREGATING = AggregatingStateDescriptor("aggregating", Gather())
DESCRIPTORS = {each.name: each for each in (VALUE, LIST, MAP, REDUCING, AGGREGATING)}


class Store:
    """A backend with its handles and a current key."""

    def __init__(self, backend, keys, clock):
        self.backend = backend
        self.keys = keys
        self.clock = clock
        self._handles = {}

    def __getattr__(self, name):
        if name not in DESCRIPTORS:
            raise AttributeError(name)
        if name not in self._handles:
            self._handles[name] = self.backend.state(DESCRIPTORS[name])
        return self._handles[name]

    def at(self, key):
        self.keys.key = key
        return self

    def content(self, key):
        self.at(key)
        value, items, entries = self.value.value(), list(self.list.get()), dict(self.map.items())
        return value, items, entries, self.reducing.get(), self.aggregating.get()


class Rocks:
    """Makes backends that keep their files below a directory, and the storage of their checkpoints."""

    def __init__(self, root):
        self.root = root
        self.stores = []

    def store(self, *, incremental=True):
        description = EmbeddedRocksDBStateBackend(incremental)
        description.set_db_storage_paths(str(self.root / "local"))
        return self.make(description)

    def make(self, description):
        keys, clock = KeyContext(), ManualClock(1000)
        backend = open_backend(description, keys, operator="op-1", max_parallelism=128, now=clock.now)
        self.stores.append(Store(backend, keys, clock))
        return self.stores[-1]

    def target(self, number, reusable=None, *, is_savepoint=False):
        root = f"{self.root}/job"
        return FileTarget(
            LocalFiles(),
            f"{root}/chk-{number}",
            shared=f"{root}/shared",
            checkpoint_id=None if is_savepoint else number,
            reusable=reusable,
            is_savepoint=is_savepoint,
        )

    def files(self, number):
        return StoredFiles(LocalFiles(), f"{self.root}/job/chk-{number}")

    def take(self, store, number, reusable=None, *, groups=ALL, timers=(), is_savepoint=False):
        snapshot = store.backend.snapshot(groups, 128, timers)
        return snapshot.store(self.target(number, reusable, is_savepoint=is_savepoint), "op-1")

    def restore(self, number, *handles, groups=ALL, description=None, checkpoint_id=None):
        store = self.store() if description is None else self.make(description)
        timers = store.backend.restore_handles(handles, self.files(number), groups, 128, checkpoint_id)
        return store, timers


@pytest.fixture
def rocks(tmp_path):
    made = Rocks(tmp_path)
    yield made
    for store in made.stores:
        store.backend.close()
    gc.collect()
    assert list((tmp_path / "local").iterdir()) == [], "nothing is left on the disk"


KEYS = [*range(40), -1, 1 << 70, "a", "水", 1.5, ("a", 1), b"k", None, Key("x", "x")]


def fill(store, keys=KEYS):
    for number, key in enumerate(keys):
        store.at(key)
        store.value.update(number)
        store.list.add_all([number, str(number)])
        store.map.put_all({"n": number, number: None, ("t", number): [number]})
        store.reducing.add(number)
        store.reducing.add(1)
        store.aggregating.add(number)
        store.aggregating.add("x")
    return store


def expected(number):
    entries = {"n": number, number: None, ("t", number): [number]}
    return number, [number, str(number)], entries, number + 1, (number, "x")


NOTHING = (None, [], {}, None, None)


def test_all_kinds_of_state_mean_what_they_mean_on_the_heap(rocks):
    for store in (rocks.store(), rocks.make(HashMapStateBackend())):
        fill(store)
        assert [store.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]
        assert store.content("unknown") == NOTHING
        store.at("a")
        store.list.update(["only"])
        store.map.remove("n")
        assert store.map.get("n") is None
        assert not store.map.contains("n")
        assert store.map.contains(42)
        assert store.map.get(42) is None
        assert sorted(map(str, store.map.keys())) == sorted(map(str, [42, ("t", 42)]))
        assert len(store.map.values()) == 2
        store.value.update(None)
        store.reducing.clear()
        store.aggregating.clear()
        assert (store.value.value(), store.reducing.get(), store.aggregating.get()) == (None, None, None)
        assert list(store.list.get()) == ["only"]
        store.map.clear()
        store.list.clear()
        assert store.map.is_empty()
        assert store.content("a") == NOTHING
        assert sorted(store.backend.keys("value"), key=str) == sorted([key for key in KEYS if key != "a"], key=str)


def test_more_writes_than_the_buffer_holds(rocks):
    store = rocks.store().at("k")
    for number in range(20_000):
        store.list.add(number)
        store.map.put(number % 9000, number)
    store.at("other").list.add("x")
    store.at("k")
    assert store.list.get() == list(range(20_000))
    assert store.map.get(1) == 18_001
    assert len(store.map.keys()) == 9000
    store.map.clear()
    assert store.map.is_empty()
    assert store.map.get(1) is None


def test_namespaces_are_apart(rocks):
    store = rocks.store().at("k")
    state = store.backend.value_state(VALUE, TimeWindow(0, 10))
    state.update("first")
    state.set_namespace(TimeWindow(10, 20))
    assert state.value() is None
    state.update("second")
    state.set_namespace(TimeWindow(0, 10))
    assert state.value() == "first"
    assert store.value.value() is None
    assert store.backend.keys("value", TimeWindow(10, 20)) == ["k"]
    store.backend.drop_namespace("value", TimeWindow(0, 10))
    assert state.value() == "first"


def test_equal_keys_find_the_same_state_whatever_objects_they_are_made_of(rocks):
    store = rocks.store()
    shared = "".join(["lo", "ng"])
    store.at(Key(shared, shared)).value.update(1)
    store.backend._layout.key.cache_clear()
    assert store.at(Key("".join(["lo", "ng"]), "".join(["long"]))).value.value() == 1


def test_a_value_that_was_read_is_the_readers_own(rocks):
    store = rocks.store().at("k")
    store.value.update({"a": [1]})
    store.value.value()["a"].append(2)
    assert store.value.value() == {"a": [1]}


def test_a_default_and_kinds(rocks):
    store = rocks.store().at("k")
    assert store.backend.value_state(ValueStateDescriptor("with", None, 5)).value() == 5
    with pytest.raises(ProgramError, match="ListStateDescriptor"):
        store.backend.list_state(VALUE)
    store.value.update(1)
    with pytest.raises(ProgramError, match="declared twice"):
        store.backend.list_state(ListStateDescriptor("value"))


def test_files_come_back_as_they_were(rocks):
    store = fill(rocks.store())
    timers = [Timer(5, "a", TimeWindow(0, 10), EVENT_TIME)]
    handle = rocks.take(store, 1, timers=timers)
    assert handle.form == ROCKSDB
    again, restored_timers = rocks.restore(1, handle)
    assert restored_timers == timers
    assert [again.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]
    again.at("a").list.add("more")
    assert again.list.get() == [42, "42", "more"]


def test_a_snapshot_stands_still(rocks):
    store = fill(rocks.store())
    snapshot = store.backend.snapshot(ALL, 128)
    fill(store, reversed(KEYS))
    again, _ = rocks.restore(1, snapshot.store(rocks.target(1), "op-1"))
    assert [again.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]


def test_an_incremental_checkpoint_stores_only_new_files(rocks):
    store = rocks.store()
    for number in range(5000):
        store.at(number).value.update("x" * 100)
    first = rocks.take(store, 1)
    store.at(1).value.update("changed")
    second = rocks.take(store, 2, reusable=1)

    def tables(handle):
        return {name: stored for name, stored in handle.files if name.endswith(".sst")}

    old, new = tables(first), tables(second)
    assert len(new) == len(old) + 1
    assert all(new[name] == stored for name, stored in old.items())
    (added,) = new.keys() - old.keys()
    assert new[added].size < 3000
    assert all(stored.is_shared for stored in new.values())
    again, _ = rocks.restore(2, second)
    assert [again.at(number).value.value() for number in (0, 1)] == ["x" * 100, "changed"]


def test_files_of_a_checkpoint_that_is_not_complete_are_stored_again(rocks):
    store = fill(rocks.store())
    first = rocks.take(store, 1)
    second = rocks.take(store, 2, reusable=None)
    locations = [{stored.location for _, stored in handle.files if stored.is_shared} for handle in (first, second)]
    assert locations[0].isdisjoint(locations[1])


def test_a_restored_database_builds_on_the_files_it_came_from(rocks):
    store = fill(rocks.store())
    first = rocks.take(store, 1)
    again, _ = rocks.restore(1, first, checkpoint_id=1)
    again.at("new").value.update(1)
    second = rocks.take(again, 2, reusable=1)
    assert {stored for _, stored in first.files if stored.is_shared} < {
        stored for _, stored in second.files if stored.is_shared
    }


def test_without_incremental_checkpoints_nothing_is_shared(rocks):
    store = fill(rocks.store(incremental=False))
    assert not any(stored.is_shared for _, stored in rocks.take(store, 1).files)


def shares(rocks, number, handles, parallelism, description=None):
    """Restores into so many subtasks."""
    for subtask in range(parallelism):
        groups = key_group_range(subtask, parallelism, 128)
        mine = [each for each in handles if each.start < groups.stop and groups.start < each.stop]
        store, timers = rocks.restore(number, *mine, groups=groups, description=description)
        yield store, timers, groups


@pytest.mark.parametrize("is_savepoint", [False, True], ids=["files", "savepoints"])
def test_rescaling_2_3_1_4_keeps_every_key_and_every_timer(rocks, is_savepoint):
    all_timers = [Timer(number, key, None, EVENT_TIME) for number, key in enumerate(KEYS)]
    handles = [rocks.take(fill(rocks.store()), 1, timers=all_timers, is_savepoint=is_savepoint)]
    for number, parallelism in enumerate((2, 3, 1, 4), 2):
        stores = list(shares(rocks, number - 1, handles, parallelism))
        found = sorted((timer for _, timers, _ in stores for timer in timers), key=lambda timer: timer.timestamp)
        assert found == all_timers
        for position, key in enumerate(KEYS):
            for store, _, groups in stores:
                mine = key_group_of(key, 128) in groups
                assert store.content(key) == (expected(position) if mine else NOTHING)
        handles = [
            rocks.take(store, number, groups=groups, timers=timers, is_savepoint=is_savepoint)
            for store, timers, groups in stores
        ]


def test_a_savepoint_moves_state_from_one_backend_to_the_other(rocks):
    handle = rocks.take(fill(rocks.store()), 1, is_savepoint=True)
    assert handle.form == ENTRIES
    heap, _ = rocks.restore(1, handle, description=HashMapStateBackend())
    assert isinstance(heap.backend, HeapStateBackend)
    assert [heap.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]
    back, _ = rocks.restore(2, rocks.take(heap, 2))
    assert [back.content(key) for key in KEYS] == [expected(number) for number in range(len(KEYS))]


def test_the_heap_cannot_read_the_files_of_rocksdb_and_says_so(rocks):
    handle = rocks.take(fill(rocks.store()), 1)
    with pytest.raises(StateRestoreError, match="savepoint"):
        rocks.restore(1, handle, description=HashMapStateBackend())


@pytest.fixture
def program():
    module = types.ModuleType("a_rocky_program")
    sys.modules["a_rocky_program"] = module

    def define(fields, **options):
        cls = dataclasses.make_dataclass("User", fields, **options)
        cls.__module__ = "a_rocky_program"
        module.User = cls
        return cls

    yield define
    del sys.modules["a_rocky_program"]


def test_old_and_new_values_of_a_class_that_has_changed_lie_side_by_side(rocks, program):
    old = program(["name"])
    store = rocks.store()
    store.at("a").value.update(old("ann"))
    handle = rocks.take(store, 1)
    new = program(["name", ("age", int, 7)])
    again, _ = rocks.restore(1, handle)
    assert again.at("a").value.value() == new("ann", 7)
    again.at("b").value.update(new("bob", 9))
    once_more, _ = rocks.restore(2, rocks.take(again, 2))
    assert [once_more.at(key).value.value() for key in "ab"] == [new("ann", 7), new("bob", 9)]


def test_state_that_cannot_be_read_names_operator_state_and_key_group(rocks, program):
    store = rocks.store()
    store.at("a").value.update(program(["name"])("ann"))
    handle = rocks.take(store, 1)
    del sys.modules["a_rocky_program"].User
    again, _ = rocks.restore(1, handle)
    with pytest.raises(StateRestoreError, match="User") as caught:
        again.at("a").value.value()
    error = caught.value
    assert (error.operator, error.state, error.key_group) == ("op-1", "value", key_group_of("a", 128))


def test_a_restored_state_of_another_kind_is_refused(rocks):
    again, _ = rocks.restore(1, rocks.take(fill(rocks.store()), 1))
    with pytest.raises(StateRestoreError, match="different kinds"):
        again.backend.list_state(ListStateDescriptor("value"))


def expiring(descriptor, builder):
    descriptor.enable_time_to_live(builder.build())
    return descriptor


def ttl():
    return StateTtlConfig.new_builder(Duration.of_millis(100))


def test_state_expires_as_on_the_heap(rocks):
    store = rocks.store().at("k")
    builder = ttl().disable_cleanup_in_background()
    value = store.backend.state(expiring(ValueStateDescriptor("v", None, 3), builder))
    items = store.backend.state(expiring(ListStateDescriptor("l"), builder))
    entries = store.backend.state(expiring(MapStateDescriptor("m"), builder))
    total = store.backend.state(expiring(ReducingStateDescriptor("r", lambda a, b: a + b), builder))
    value.update(1)
    items.add(1)
    entries.put("a", 1)
    total.add(1)
    store.clock.advance(60)
    items.add(2)
    entries.put("b", 2)
    assert (value.value(), items.get(), entries.items(), total.get()) == (1, [1, 2], [("a", 1), ("b", 2)], 1)
    store.clock.advance(60)
    assert (value.value(), items.get(), entries.items(), total.get()) == (3, [2], [("b", 2)], None)


def test_expired_state_goes_without_being_read(rocks):
    store = rocks.store()
    builder = ttl().cleanup_in_rocksdb_compact_filter(10)
    state = store.backend.state(expiring(ValueStateDescriptor("v"), builder))
    for number in range(50):
        store.at(number)
        state.update(number)
    store.clock.advance(100)
    store.at("new")
    for _ in range(200):
        state.update("fresh")
        assert store.keys.key == "new"
    assert store.backend.keys("v") == ["new"]


def test_a_savepoint_leaves_out_what_is_expired(rocks):
    store = rocks.store().at("k")
    builder = ttl().disable_cleanup_in_background().cleanup_full_snapshot()
    descriptors = [
        expiring(make(name), builder)
        for make, name in ((ValueStateDescriptor, "v"), (ListStateDescriptor, "l"), (MapStateDescriptor, "m"))
    ]
    value, items, entries = [store.backend.state(descriptor) for descriptor in descriptors]
    value.update(1)
    items.add(1)
    entries.put("a", 1)
    store.clock.advance(60)
    items.add(2)
    entries.put("b", 2)
    store.clock.advance(60)
    written = []
    store.backend.snapshot(ALL, 128).encode(written.extend)
    reader = KeyedStateReader(BytesInput(b"".join(written)))
    content = {info.name: columns[2] for _, info, columns in reader.read(ALL)}
    assert {name: content[name] for name in content if "\x00" not in name} == {"l": [[2]], "m": [{"b": 2}]}
    assert {name: content[name] for name in content if "\x00" in name} == {
        "l\x00expiry": [[1060]],
        "m\x00expiry": [{"b": 1060}],
    }


def test_switching_a_time_to_live_off_keeps_the_state_for_ever(rocks):
    store = rocks.store().at("k")
    store.backend.state(expiring(ValueStateDescriptor("v"), ttl())).update("x")
    again, _ = rocks.restore(1, rocks.take(store, 1))
    again.clock.advance(10_000)
    assert again.at("k").backend.state(ValueStateDescriptor("v")).value() == "x"
    once_more, _ = rocks.restore(2, rocks.take(again, 2))
    once_more.clock.advance(20_000)
    assert once_more.at("k").backend.state(expiring(ValueStateDescriptor("v"), ttl())).value() == "x"


@pytest.mark.parametrize("predefined", PredefinedOptions, ids=lambda each: each.name)
def test_sets_of_options_open(rocks, predefined, tmp_path):
    description = RocksDBStateBackend(f"file://{tmp_path}/chk", True)
    description.set_db_storage_paths(str(tmp_path / "local"))
    description.set_predefined_options(predefined)
    store = rocks.make(description).at("k")
    store.value.update(1)
    assert store.value.value() == 1
    assert isinstance(store.backend, RocksDBKeyedStateBackend)


def test_without_the_library_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    description = EmbeddedRocksDBStateBackend()
    description.set_db_storage_paths(str(tmp_path))
    backend = open_backend(description, KeyContext(), operator="o", max_parallelism=128, now=lambda: 0)
    with pytest.raises(ProgramError, match=r"penstock\[rocksdb\]"):
        backend.state(VALUE)
    backend.close()
