"""Two keys that Python holds for equal are one key, and no others: in routing, state and savepoints."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from penstock.foundation.keys.canonical_form import canonical
from penstock.foundation.keys.forms import encode
from penstock.foundation.keys.groups import TargetCache, java_hash, key_group_of
from penstock.statestore.backend import KeyContext, KeyedStateBackend
from penstock.statestore.open_backend import open_backend
from penstock.statestore.snapshot_format import EVENT_TIME, BytesInput, KeyedStateReader, Timer
from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend, HashMapStateBackend
from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.unit.property.equal_keys import FAMILIES, KEYS

ALL = range(128)
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
BACKENDS = {"heap": HashMapStateBackend, "rocksdb": EmbeddedRocksDBStateBackend}
COUNT = ValueStateDescriptor("count")
SEEN = ListStateDescriptor("seen")
OTHERS = MapStateDescriptor("others")


def is_one_key(first: Any, second: Any) -> bool:
    """What a dictionary says."""
    return second in {first: None}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_equal_keys_has_one_form_one_hash_and_one_key_group(family: list[Any]) -> None:
    assert all(is_one_key(first, second) for first, second in combinations(family, 2))
    assert len({encode(canonical(key)) for key in family}) == 1
    assert len({java_hash(key) for key in family}) == 1
    assert len({key_group_of(key, 128) for key in family}) == 1


def test_keys_of_different_families_have_different_forms() -> None:
    assert len({encode(canonical(family[0])) for family in FAMILIES}) == len(FAMILIES)


@given(KEYS, KEYS)
@settings(max_examples=300)
def test_keys_have_the_same_form_if_and_only_if_they_are_equal(first: Any, second: Any) -> None:
    assert (encode(canonical(first)) == encode(canonical(second))) is is_one_key(first, second)
    if is_one_key(first, second):
        assert key_group_of(first, 128) == key_group_of(second, 128)


@given(st.lists(KEYS, max_size=8))
def test_what_was_routed_before_does_not_matter(keys: list[Any]) -> None:
    cache = TargetCache(7, 128)
    assert [cache[key] for key in keys] == [TargetCache(7, 128)[key] for key in keys]


class Counter:
    """Counts keys in value, list and map state of a backend."""

    def __init__(self, kind: str) -> None:
        self.keys = KeyContext()
        self.backend: KeyedStateBackend = open_backend(
            BACKENDS[kind](), self.keys, operator="op", max_parallelism=128, now=lambda: 0
        )

    def count(self, key: Any) -> tuple[int, int, int]:
        """Counts a key once more; returns how often each kind of state has seen it."""
        self.keys.key = key
        count, seen, others = (self.backend.state(each) for each in (COUNT, SEEN, OTHERS))
        count.update((count.value() or 0) + 1)
        seen.add(1)
        others.put(key, (others.get(key) or 0) + 1)
        others.put("another", 1)
        return count.value(), len(list(seen.get())), others.get(key) - (key == "another")

    def savepoint(self, timers: list[Timer]) -> KeyedStateReader:
        parts: list[bytes] = []
        self.backend.snapshot(ALL, 128, timers).encode(parts.extend)
        return KeyedStateReader(BytesInput(b"".join(parts)))


@pytest.mark.parametrize("after", BACKENDS)
@pytest.mark.parametrize("before", BACKENDS)
@given(st.lists(KEYS, min_size=2, max_size=10), st.lists(KEYS, max_size=5))
@settings(max_examples=8, deadline=None, phases=NO_SHRINKING)
def test_state_is_that_of_a_dictionary_before_and_after_a_savepoint(
    before: str, after: str, first: list[Any], second: list[Any]
) -> None:
    families = [key for family in FAMILIES for key in family]
    first = [*first, *families]
    expected: dict[Any, int] = {}

    def counted(key: Any) -> tuple[int, int, int]:
        expected[key] = expected.get(key, 0) + 1
        return expected[key], expected[key], expected[key]

    old, new = Counter(before), Counter(after)
    try:
        for key in first:
            assert old.count(key) == counted(key), key
        timers = new.backend.restore([old.savepoint([Timer(5, key, None, EVENT_TIME) for key in families])], ALL, 128)
        assert {timer.key for timer in timers} == set(families)
        assert dict.fromkeys(new.backend.keys("count")) == dict.fromkeys(expected)
        for key in [*second, *reversed(first)]:
            assert new.count(key) == counted(key), key
    finally:
        old.backend.close()
        new.backend.close()


@pytest.mark.parametrize("after", BACKENDS)
@pytest.mark.parametrize("before", BACKENDS)
def test_keys_of_state_look_as_the_program_gave_them(before: str, after: str) -> None:
    given_keys = [family[-1] for family in FAMILIES]
    old, new = Counter(before), Counter(after)
    try:
        for key in given_keys:
            old.count(key)
        new.backend.restore([old.savepoint([])], ALL, 128)
        for backend in (old.backend, new.backend):
            assert sorted(map(shown, backend.keys("count"))) == sorted(map(shown, given_keys))
            found = {key: shown(key) for key in given_keys}
            for key in backend.keys("seen"):
                assert found[key] == shown(key)
        for key in given_keys:
            new.keys.key = key
            assert shown(key) in map(shown, new.backend.state(OTHERS).keys())
    finally:
        old.backend.close()
        new.backend.close()


def shown(key: Any) -> str:
    """The class of a key, and the key; sets, whose order differs, without theirs."""
    return f"{type(key).__name__} {sorted(map(str, key)) if isinstance(key, frozenset) else key!r}"
