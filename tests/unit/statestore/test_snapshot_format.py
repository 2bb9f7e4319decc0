"""The bytes of keyed state: what they hold, what is read of them, and how damage is found."""

import threading

import pytest

from penstock.errors import CheckpointError, CorruptCheckpointError, StateRestoreError
from penstock.statestore.snapshot_format import (
    BATCH_ENTRIES,
    EVENT_TIME,
    PROCESSING_TIME,
    BytesInput,
    KeyedStateReader,
    KeyedStateWriter,
    StateInfo,
    Timer,
)

COUNT = StateInfo("count", "value")
WORDS = StateInfo("words", "list", ttl_millis=1000)
TIMERS = [Timer(5, "a", None, EVENT_TIME), Timer(7, "b", ("w", 1), PROCESSING_TIME)]


def encode(groups, operator="word-count"):
    written = []
    writer = KeyedStateWriter(written.extend, operator=operator, max_parallelism=128)
    for group, (states, timers) in groups.items():
        writer.write_group(group, states, timers)
    size = writer.finish()
    data = b"".join(written)
    assert size == len(data)
    return data


GROUPS = {
    3: ([(COUNT, [(None, ["a", "b"], [1, 2])]), (WORDS, [([(1, 2)], ["a"], [["x", "y"]])])], TIMERS),
    9: ([(COUNT, [(None, ["c"], [3])])], []),
    12: ([], []),
}


class CountingInput(BytesInput):
    """Remembers what was read."""

    def read_at(self, offset, length):
        self.__dict__.setdefault("reads", []).append((offset, length))
        return super().read_at(offset, length)


def test_entries_and_timers_come_back():
    reader = KeyedStateReader(BytesInput(encode(GROUPS)))
    assert reader.operator == "word-count"
    assert reader.max_parallelism == 128
    assert reader.states == [COUNT, WORDS]
    assert reader.entries == 4
    assert reader.key_groups == [3, 9]
    assert list(reader.read(range(128))) == [
        (3, COUNT, (None, ["a", "b"], [1, 2])),
        (3, WORDS, ([(1, 2)], ["a"], [["x", "y"]])),
        (9, COUNT, (None, ["c"], [3])),
    ]
    assert list(reader.read_timers(range(128))) == TIMERS


def test_only_the_key_groups_asked_for_are_read():
    source = CountingInput(encode(GROUPS))
    reader = KeyedStateReader(source)
    before = len(source.reads)
    assert [group for group, _, _ in reader.read(range(5, 20))] == [9]
    assert len(source.reads) == before + 1


def test_an_empty_snapshot_is_a_snapshot():
    reader = KeyedStateReader(BytesInput(encode({})))
    assert reader.key_groups == []
    assert list(reader.read(range(128))) == []


def test_many_timers_go_into_several_batches():
    timers = [Timer(n, n, None, EVENT_TIME) for n in range(BATCH_ENTRIES * 2 + 1)]
    reader = KeyedStateReader(BytesInput(encode({1: ([], timers)})))
    assert list(reader.read_timers([1])) == timers


def test_every_truncation_is_found_and_names_the_file():
    data = encode(GROUPS)
    for length in range(len(data)):
        with pytest.raises(CorruptCheckpointError, match=r"chk-7/state-1") as caught:
            list(KeyedStateReader(BytesInput(data[:length], "chk-7/state-1")).read(range(128)))
        assert caught.value.file == "chk-7/state-1"


def test_every_changed_byte_is_found():
    data = encode(GROUPS)
    for place in range(len(data)):
        if place in (8, 9):  # the version: a lower one is not damage
            continue
        broken = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        with pytest.raises(CorruptCheckpointError):
            list(KeyedStateReader(BytesInput(broken)).read(range(128)))


def test_a_newer_format_is_refused():
    data = bytearray(encode(GROUPS))
    data[8] = 4
    with pytest.raises(CorruptCheckpointError, match="version 4"):
        KeyedStateReader(BytesInput(bytes(data)))


class Fickle:
    """Can be pickled, but not read back."""

    def __reduce__(self):
        return _explode, ()


def _explode():
    raise RuntimeError("gone")


def test_unreadable_state_names_operator_state_and_key_group():
    data = encode({3: ([(COUNT, [(None, ["a"], [Fickle()])])], [])})
    with pytest.raises(StateRestoreError, match="gone") as caught:
        list(KeyedStateReader(BytesInput(data)).read(range(128)))
    assert (caught.value.operator, caught.value.state, caught.value.key_group) == ("word-count", "count", 3)
    for part in ("'word-count'", "'count'", "3"):
        assert part in str(caught.value)


def test_a_value_that_cannot_be_stored_is_named():
    with pytest.raises(CheckpointError, match=r"state 'count' of operator 'word-count'.*key 'b' is a lock"):
        encode({3: ([(COUNT, [(None, ["a", "b"], [1, threading.Lock()])])], [])})


def test_compressed_sections_are_smaller_and_read_alike():
    rows = [(None, list(range(500)), ["the same text again and again"] * 500)]
    info = StateInfo("texts", "value")

    def written(*, compresses):
        data = []
        writer = KeyedStateWriter(data.extend, operator="o", max_parallelism=128, compresses=compresses)
        writer.write_group(7, [(info, rows)], [Timer(5, 1, None, EVENT_TIME)])
        writer.finish()
        return b"".join(data)

    plain, compressed = written(compresses=False), written(compresses=True)
    assert len(compressed) < len(plain) / 2
    for data in (plain, compressed):
        reader = KeyedStateReader(BytesInput(data))
        assert list(reader.read(range(128))) == [(7, info, rows[0])]
        assert list(reader.read_timers(range(128))) == [Timer(5, 1, None, EVENT_TIME)]
    damaged = bytearray(compressed)
    damaged[40] ^= 0xFF
    with pytest.raises(CorruptCheckpointError, match="key group 7"):
        list(KeyedStateReader(BytesInput(bytes(damaged))).read(range(128)))
