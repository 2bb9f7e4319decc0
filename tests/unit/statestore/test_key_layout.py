"""The layout of keys that snapshots of the heap use again and again."""

from __future__ import annotations

import random

from penstock.foundation.keys.groups import key_group_of
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.statestore.key_layout import KeyLayout
from penstock.statestore.snapshot_format import BATCH_ENTRIES, BytesInput, KeyedStateReader
from penstock.vocabulary.state.descriptors import ValueStateDescriptor

ALL = range(128)


def layout_of(entries, known=None, calls=None):
    def group_of(key):
        if calls is not None:
            calls.append(key)
        return key_group_of(key, 128)

    return KeyLayout.of(entries, known, ALL, group_of)


def test_the_same_keys_are_not_looked_at_again():
    calls = []
    first = layout_of({"a": 1, "b": 2}, calls=calls)
    assert layout_of({"a": 3, "b": 4}, first, calls) is first
    assert calls == ["a", "b"]


def test_only_new_keys_are_looked_at():
    calls = []
    first = layout_of({"a": 1, "b": 2}, calls=calls)
    layout_of({"a": 3, "b": 4, "c": 5}, first, calls)
    assert calls == ["a", "b", "c"]


def test_keys_that_are_gone_make_a_new_layout():
    calls = []
    first = layout_of({"a": 1, "b": 2}, calls=calls)
    second = layout_of({"b": 4}, first, calls)
    assert calls == ["a", "b", "b"]
    assert [columns[2] for batches in second.columns({"b": 4}).values() for columns in batches] == [[4]]


def test_many_small_additions_do_not_split_a_key_group_up_for_ever():
    entries = {}
    layout = None
    for number in range(100):
        for key in range(number * 128, number * 128 + 128):
            entries[key] = key
        layout = layout_of(entries, layout)
    assert max(len(list(batches)) for batches in layout.columns(entries).values()) <= 40


def test_only_keys_of_plain_data_are_kept_encoded():
    assert layout_of({("a", 1): 1, "b": 2, None: 3}) is not None
    assert layout_of({("a", ("nested",)): 1}) is None
    assert layout_of({frozenset(): 1}) is None


def test_whatever_happens_to_the_keys_a_snapshot_holds_what_was_there():
    chance = random.Random(7)
    keys = KeyContext()
    backend = HeapStateBackend(keys)
    state = backend.value_state(ValueStateDescriptor("v"))
    expected = {}
    for _ in range(30):
        for _ in range(chance.randrange(300)):
            key = chance.choice([chance.randrange(3 * BATCH_ENTRIES), str(chance.randrange(500)), (1, "x")])
            keys.key = key
            if chance.random() < 0.1:
                state.clear()
                expected.pop(key, None)
            else:
                state.update(chance.random())
                expected[key] = state.value()
        if chance.random() < 0.1:
            for key in list(expected):
                keys.key = key
                state.clear()
            expected = {}
        written = []
        backend.snapshot(ALL, 128).encode(written.extend)
        reader = KeyedStateReader(BytesInput(b"".join(written)))
        found = {}
        for group, _, (namespaces, some, values) in reader.read(ALL):
            assert namespaces is None
            assert all(key_group_of(key, 128) == group for key in some)
            found.update(zip(some, values, strict=True))
        assert found == expected
