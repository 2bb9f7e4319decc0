"""Keyed state as bytes: the form of checkpoints and savepoints that no backend owns.

A snapshot holds, per key group, the entries of every state and the timers. Any backend writes it and any backend
reads it, and a subtask that owns only some of the key groups reads only their bytes. The layout, all numbers
little-endian::

    head      b"PENSTATE", u16 version
    section   one per key group that holds something:
                per state:  u16 number of the state (0xFFFF: the timers), u32 number of batches,
                            per batch: u32 length of its keys, u32 length of its values, keys, values
    footer    the index, plain data: operator, max parallelism, states (name, kind, time to live, schema version),
              sections (key group, offset, length, CRC-32), classes of the values, how many entries each state and how
              many timers each domain has, compression (``zlib``: of each section)
    tail      u64 offset of the footer, u32 length of the footer, u32 CRC-32 of the footer, b"PENSTATE"

A batch is two pickles: ``(namespaces or None, keys)`` and ``values`` of a state, or ``(timestamps, domains)`` of
timers; it has at most ``BATCH_ENTRIES`` entries. The value of a list state is a list, of a map state a dict, of an
aggregating state the accumulator. How values are pickled, and read after their classes have changed, is the matter of
:mod:`penstock.statestore.value_codec`. The number of entries in a batch is also a bound on how long the interpreter
is held.
"""

from __future__ import annotations

import pickle
import struct
import zlib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from penstock.errors import CheckpointError, CorruptCheckpointError, StateRestoreError
from penstock.foundation.plain_data import Fields, PlainDataError, dump_plain, load_plain
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.value_codec import PROGRAM_CLASSES, ClassTable, ValueReader

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from penstock.foundation.files.local import StateInput
    from penstock.statestore.stored_classes import StoredClasses

__all__ = [
    "BATCH_ENTRIES",
    "EVENT_TIME",
    "PROCESSING_TIME",
    "BytesInput",
    "Columns",
    "KeyBlock",
    "KeyedStateReader",
    "KeyedStateWriter",
    "StateInfo",
    "Timer",
    "state_info",
    "with_other_classes",
]

BATCH_ENTRIES = 2048
"""The most entries of one batch."""
EVENT_TIME = 0
"""The domain of timers that wait for the watermark."""
PROCESSING_TIME = 1
"""The domain of timers that wait for the clock."""

_MAGIC = b"PENSTATE"
_VERSION = 3
"""The first one that lasts: all later ones are read as well."""
_HEAD = struct.Struct("<8sH")
_TAIL = struct.Struct("<QII8s")
_STATE = struct.Struct("<HI")
_LENGTHS = struct.Struct("<II")
_TIMERS = 0xFFFF
_COMPRESSION_LEVEL = 1
"""Fast: a checkpoint is written often and read seldom."""
_KEEPS_INTERPRETER = 5 * 1024
"""The most bytes of which :mod:`zlib` computes a checksum without letting other threads run."""
_AT_ONCE = 1 << 22
"""How many bytes are written in one go: around each write, the thread waits for the interpreter again."""


class KeyBlock(NamedTuple):
    """Keys of plain data without namespaces, pickled already."""

    data: bytes
    """The pickle of ``(None, keys)``."""
    size: int
    """The number of keys."""


Columns: TypeAlias = "tuple[list[Any] | None, list[Any] | KeyBlock, list[Any]]"
"""Namespaces (``None`` where all are ``None``), keys and values, equally long; readers never get a ``KeyBlock``."""


class Timer(NamedTuple):
    """A timer that waits."""

    timestamp: int
    key: Any
    namespace: Any
    domain: int
    """``EVENT_TIME`` or ``PROCESSING_TIME``."""


class StateInfo(NamedTuple):
    """What a state is, besides its content."""

    name: str
    kind: str
    """``value``, ``list``, ``map``, ``reducing`` or ``aggregating``."""
    ttl_millis: int | None = None
    """How long content lives; ``None`` is for ever."""
    schema_version: int = 1


@dataclass(frozen=True)
class BytesInput:
    """A snapshot in memory."""

    data: bytes
    name: str = "the state in memory"

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes from a place on."""
        return self.data[offset : offset + length]


class KeyedStateWriter:
    """Writes a snapshot, one key group after the other, in any order."""

    def __init__(
        self, write: Callable[[list[bytes]], object], *, operator: str, max_parallelism: int, compresses: bool = False
    ) -> None:
        self._write = write
        self._operator = operator
        self._max_parallelism = max_parallelism
        self._compresses = compresses
        self.separate: set[str] = set()
        """The states whose values are plain and have no objects in common: nothing is gained by looking for such."""
        self._states: dict[StateInfo, int] = {}
        self._rows: list[int] = []
        self._timers = [0, 0]
        self._sections: dict[int, tuple[int, int, int]] = {}
        self._classes = ClassTable()
        self._size = 0
        self._gathered: list[bytes] = []
        self._written = 0
        self._put(_HEAD.pack(_MAGIC, _VERSION))

    def write_group(
        self, key_group: int, states: Iterable[tuple[StateInfo, Iterable[Columns]]], timers: Iterable[Timer] = ()
    ) -> None:
        """Write what a key group holds; a group without content leaves no trace."""
        parts: list[bytes] = []
        for info, batches in states:
            number = self._states.setdefault(info, len(self._states))
            if number == len(self._rows):
                self._rows.append(0)
            self._add(parts, number, [self._pickle(columns, info, key_group) for columns in batches])
        self._add(parts, _TIMERS, [self._pickle_timers(batch) for batch in _batches(timers)])
        if parts:
            if self._compresses:
                parts = [zlib.compress(b"".join(parts), _COMPRESSION_LEVEL)]
            self._sections[key_group] = (self._size, sum(map(len, parts)), _checksum(parts))
            self._put(*parts)

    def finish(self) -> int:
        """Write the index and return the number of bytes in all."""
        index = {
            "operator": self._operator,
            "max_parallelism": self._max_parallelism,
            "states": [info._asdict() for info in self._states],
            "sections": [[key_group, *section] for key_group, section in self._sections.items()],
            "classes": [schema.to_plain() for schema in self._classes.schemas()],
            "rows": self._rows,
            "timers": self._timers,
            "compression": "zlib" if self._compresses else None,
        }
        footer = dump_plain(index)
        offset = self._size
        self._put(footer)
        self._put(_TAIL.pack(offset, len(footer), zlib.crc32(footer), _MAGIC))
        self._flush()
        return self._size

    def _pickle(self, columns: Columns, info: StateInfo, key_group: int) -> tuple[list[bytes], list[bytes]]:
        namespaces, keys, values = columns
        self._rows[self._states[info]] += len(values)
        try:
            encoded = [keys.data] if isinstance(keys, KeyBlock) else self._classes.dump_parts((namespaces, keys))
            return encoded, self._classes.dump_parts(values, is_canonical=info.name in self.separate)
        except Exception as error:
            plain = pickle.loads(keys.data)[1] if isinstance(keys, KeyBlock) else keys
            for key, value in zip(plain, values, strict=True):
                try:
                    self._classes.dumps((key, value))
                except Exception as cause:
                    message = (
                        f"The state {info.name!r} of operator {self._operator!r} cannot be stored: the value of key"
                        f" {key!r:.100} is a {type(value).__name__} that cannot be pickled ({cause})."
                        " Keep plain data in state."
                    )
                    raise CheckpointError(message) from cause
            message = f"Key group {key_group} of the state {info.name!r} cannot be stored: {error!r}."
            raise CheckpointError(message) from error

    def _pickle_timers(self, timers: list[Timer]) -> tuple[list[bytes], list[bytes]]:
        timestamps, keys, namespaces, domains = map(list, zip(*timers, strict=True))
        waiting_for_events = domains.count(EVENT_TIME)
        self._timers[EVENT_TIME] += waiting_for_events
        self._timers[PROCESSING_TIME] += len(domains) - waiting_for_events
        return self._classes.dump_parts((namespaces, keys)), self._classes.dump_parts((timestamps, domains))

    def _add(self, parts: list[bytes], number: int, batches: list[tuple[list[bytes], list[bytes]]]) -> None:
        if batches:
            parts.append(_STATE.pack(number, len(batches)))
            for keys, values in batches:
                parts.append(_LENGTHS.pack(sum(map(len, keys)), sum(map(len, values))))
                parts += keys
                parts += values

    def _put(self, *data: bytes) -> None:
        self._gathered.extend(data)
        self._size += sum(map(len, data))
        if self._size - self._written >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._write(self._gathered)
        self._gathered.clear()
        self._written = self._size


class KeyedStateReader:
    """Reads a snapshot, only the key groups that are asked for; its index without running any code.

    Args:
        source: The bytes.
        operator: The operator, for messages, that of the index if not given.
        classes: Finds the classes of the values.

    Raises:
        CorruptCheckpointError: The bytes are not a whole snapshot, or one that a newer Penstock wrote.
    """

    def __init__(
        self, source: StateInput, *, operator: str | None = None, classes: StoredClasses = PROGRAM_CLASSES
    ) -> None:
        self._source = source
        try:
            with Fields(load_plain(self._read_footer()), "the index") as index:
                self.operator: str = index.take("operator", str)
                self.max_parallelism: int = index.take("max_parallelism", int, least=1)
                self.states = index.take_list("states", state_info)
                self.rows = index.take_list("rows", int)
                """How many entries each state has."""
                self.timers = index.take_list("timers", int)
                """How many timers wait for the watermark, and how many for the clock."""
                self._sections = dict(index.take_list("sections", _section))
                self.schemas = index.take_list("classes", ClassSchema.from_plain)
                self._is_compressed = index.take_optional("compression", str) == "zlib"
        except PlainDataError as error:
            raise CorruptCheckpointError(source.name, str(error)) from error
        if len(self.rows) != len(self.states) or len(self.timers) != 2:
            raise CorruptCheckpointError(source.name, "is damaged (its index contradicts itself)")
        self.operator = operator or self.operator
        self._values = ValueReader(self.schemas, classes)

    @property
    def entries(self) -> int:
        """Return the number of entries of all states."""
        return sum(self.rows)

    @property
    def key_groups(self) -> list[int]:
        """Return the key groups that hold something, in order."""
        return sorted(self._sections)

    def counts(self) -> list[tuple[StateInfo, int]]:
        """Return how many entries each state has, without a look at them."""
        return list(zip(self.states, self.rows, strict=True))

    def read(
        self, key_groups: Container[int]
    ) -> Iterator[tuple[int, StateInfo, tuple[list[Any] | None, list[Any], list[Any]]]]:
        """Return the batches of the given key groups: key group, state, columns."""
        for key_group in self.key_groups:
            if key_group in key_groups:
                for number, keys, values in self._batches(key_group):
                    if number != _TIMERS:
                        info = self._state(number, key_group)
                        content = self._load(values, info.name, key_group)
                        yield key_group, info, (*self._load(keys, info.name, key_group), content)

    def read_timers(self, key_groups: Container[int]) -> Iterator[Timer]:
        """Return the timers of the given key groups."""
        for key_group in self.key_groups:
            if key_group in key_groups:
                for number, owners, times in self._batches(key_group):
                    if number == _TIMERS:
                        namespaces, keys = self._load(owners, "the timers", key_group)
                        timestamps, domains = self._load(times, "the timers", key_group)
                        yield from map(Timer, timestamps, keys, namespaces, domains)

    def _load(self, data: memoryview, state: str, key_group: int) -> Any:
        try:
            return self._values.loads(data)
        except Exception as error:
            message = f"The state in {self._source.name} cannot be read by this program: {error}."
            raise StateRestoreError(message, self.operator, state, key_group) from error

    def _batches(self, key_group: int) -> Iterator[tuple[int, memoryview, memoryview]]:
        offset, length, checksum = self._sections[key_group]
        if min(offset, length) < 0 or offset + length > self._source.size:
            raise CorruptCheckpointError(self._source.name, f"is damaged in its index (key group {key_group})")
        section = self._source.read_at(offset, length)
        if len(section) != length or zlib.crc32(section) != checksum:
            problem = f"is damaged in key group {key_group} of operator {self.operator!r} (the checksum does not match)"
            raise CorruptCheckpointError(self._source.name, problem)
        view = memoryview(zlib.decompress(section) if self._is_compressed else section)
        position = 0
        while position < len(view):
            number, count = _STATE.unpack_from(view, position)
            position += _STATE.size
            for _ in range(count):
                keys, values = _LENGTHS.unpack_from(view, position)
                position += _LENGTHS.size
                middle = position + keys
                yield number, view[position:middle], view[middle : middle + values]
                position = middle + values

    def _state(self, number: int, key_group: int) -> StateInfo:
        if number >= len(self.states):
            raise CorruptCheckpointError(self._source.name, f"is damaged in key group {key_group} (no such state)")
        return self.states[number]

    def _read_footer(self) -> bytes:
        source = self._source
        head = source.read_at(0, _HEAD.size)
        tail = source.read_at(max(0, source.size - _TAIL.size), _TAIL.size)
        if len(head) < _HEAD.size or len(tail) < _TAIL.size or tail[-len(_MAGIC) :] != _MAGIC:
            raise CorruptCheckpointError(source.name, f"is truncated at {source.size} bytes or holds no state")
        magic, version = _HEAD.unpack(head)
        if magic != _MAGIC:
            raise CorruptCheckpointError(source.name, "holds no state")
        if version != _VERSION:
            problem = f"has version {version} of the state format, and this Penstock reads version {_VERSION}"
            raise CorruptCheckpointError(source.name, problem)
        offset, length, checksum, _ = _TAIL.unpack(tail)
        # Looked at first: a length that is wrong may be larger than all memory.
        footer = source.read_at(offset, length) if offset + length + _TAIL.size == source.size else b""
        if len(footer) != length or zlib.crc32(footer) != checksum:
            raise CorruptCheckpointError(source.name, "is damaged in its index (the checksum does not match)")
        return footer


def with_other_classes(source: StateInput, change: Callable[[ClassSchema], ClassSchema]) -> Iterator[bytes]:
    """Return the parts of the same snapshot with other classes in its index; no entry is read.

    Raises:
        CorruptCheckpointError: The bytes are not a whole snapshot.
    """
    footer = KeyedStateReader(source)._read_footer()
    offset = source.size - _TAIL.size - len(footer)
    for start in range(0, offset, _AT_ONCE):
        yield source.read_at(start, min(_AT_ONCE, offset - start))
    index = load_plain(footer)
    index["classes"] = [change(ClassSchema.from_plain(each)).to_plain() for each in index["classes"]]
    changed = dump_plain(index)
    yield changed
    yield _TAIL.pack(offset, len(changed), zlib.crc32(changed), _MAGIC)


def state_info(plain: Any) -> StateInfo:
    """Return a state that is described by plain data.

    Raises:
        PlainDataError: The data is something else.
    """
    with Fields(plain, "a state") as fields:
        return StateInfo(
            fields.take("name", str),
            fields.take("kind", str),
            fields.take_optional("ttl_millis", int),
            fields.take("schema_version", int),
        )


def _section(plain: Any) -> tuple[int, tuple[int, int, int]]:
    key_group, offset, length, checksum = map(int, plain)
    return key_group, (offset, length, checksum)


def _checksum(parts: list[bytes]) -> int:
    """Return the CRC-32 of all parts together, in steps that keep the interpreter.

    A long call would let it go, and a busy subtask gives it back only after its whole time slice: for many sections,
    that adds up to more than the work itself.
    """
    checksum = 0
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(part), _KEEPS_INTERPRETER):
            checksum = zlib.crc32(view[start : start + _KEEPS_INTERPRETER], checksum)
    return checksum


def _batches(timers: Iterable[Timer]) -> Iterator[list[Timer]]:
    rest = iter(timers)
    while batch := list(islice(rest, BATCH_ENTRIES)):
        yield batch
