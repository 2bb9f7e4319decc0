"""How the RocksDB backend turns keys, namespaces and values into bytes, and what it must remember to turn them back."""

from __future__ import annotations

import pickle
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.errors import CorruptCheckpointError, StateRestoreError, UnusableKeyError
from penstock.foundation.keys.forms import with_length
from penstock.foundation.keys.groups import key_group_of
from penstock.foundation.plain_data import Fields, PlainDataError, seal, unseal
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.key_codec import decode_key, decode_namespace, encode_key, encode_namespace, is_plain
from penstock.statestore.snapshot_format import state_info
from penstock.statestore.value_codec import PROGRAM_CLASSES, ClassTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.foundation.files.local import StateInput
    from penstock.statestore.snapshot_format import StateInfo
    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["HEAD", "Layout", "place_of"]

_KIND = b"PENROCKS"
_VERSIONS = range(1, 2)

HEAD = 4
"""The bytes of the key group and the state at the start of every key."""

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
_PICKLE = 0x80
"""The first byte of a value that is a plain pickle."""
_WITH_CLASSES = b"\x01"
"""In front of a value that may hold objects of classes."""
_OWNER = b"\x02"
"""In front of all that, the key itself, where its bytes do not say what it looked like, with its length."""
_MEMBER = b"\x03"
"""Behind that, the same of the key of a map."""
_LENGTH = struct.Struct(">I")
_CACHED_KEYS = 1 << 16
"""About 20 MB of keys: hashing and encoding a key takes as long as a look into RocksDB."""
_CACHED_NAMESPACES = 1 << 10


class Layout:
    """The states, classes and counters of one database.

    Args:
        operator: The operator's id, for messages.
        max_parallelism: The number of key groups in all.
        meta: What another layout of the same database has returned as its ``meta``.
        classes: Finds the classes of the values.
    """

    def __init__(
        self,
        operator: str,
        max_parallelism: int,
        meta: bytes | None = None,
        classes: StoredClasses = PROGRAM_CLASSES,
    ) -> None:
        self.operator = operator
        self.max_parallelism = max_parallelism
        self.states: dict[str, StateInfo] = {}
        self.next_element = 0
        schemas: list[ClassSchema] = []
        if meta is not None:
            with Fields(unseal(meta, _KIND, _VERSIONS, "description of a database"), "the database") as fields:
                self.states = {info.name: info for info in fields.take_list("states", state_info)}
                schemas = fields.take_list("classes", ClassSchema.from_plain)
                self.next_element = fields.take("next_element", int, least=0)
        self.classes = ClassTable(schemas)
        self.reader = self.classes.reader(classes)
        self._load_plain: Callable[[bytes], Any] = pickle.loads if classes.runs_code else self.reader.loads
        self._names = list(self.states)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._group_bytes = [group.to_bytes(2, "big") for group in range(max_parallelism)]
        self.key: Callable[[Any], tuple[bytes, bytes, bytes]] = lru_cache(_CACHED_KEYS)(self._key)
        """Gives the bytes of a key's group and of the key, and what is put in front of content that is kept for it."""
        self.namespace: Callable[[Any], bytes] = lru_cache(_CACHED_NAMESPACES)(self._namespace)
        """Gives the bytes of a namespace."""

    @staticmethod
    def of(operator: str, max_parallelism: int, source: StateInput, classes: StoredClasses = PROGRAM_CLASSES) -> Layout:
        """Return the layout that a checkpoint has stored.

        Raises:
            CorruptCheckpointError: The bytes are something else.
        """
        try:
            return Layout(operator, max_parallelism, source.read_at(0, source.size), classes)
        except PlainDataError as error:
            raise CorruptCheckpointError(source.name, str(error)) from error

    def meta(self) -> bytes:
        """Return what another layout of the same database can be made from."""
        plain = {
            "states": [info._asdict() for info in self.states.values()],
            "classes": [schema.to_plain() for schema in self.classes.schemas()],
            "next_element": self.next_element,
        }
        return seal(_KIND, 1, plain)

    def declare(self, info: StateInfo) -> bytes:
        """Return the bytes that stand for a state."""
        self.states[info.name] = info
        number = self._numbers.get(info.name)
        if number is None:
            number = self._numbers[info.name] = len(self._names)
            self._names.append(info.name)
        return number.to_bytes(2, "big")

    def info_at(self, state: bytes) -> StateInfo:
        """Return the state that some bytes stand for."""
        return self.states[self._names[int.from_bytes(state, "big")]]

    def element(self) -> bytes:
        """Return the member of a new element of a list."""
        self.next_element += 1
        return self.next_element.to_bytes(8, "big")

    def member(self, key: Any) -> bytes:
        """Return the member of an entry of a map.

        Raises:
            UnusableKeyError: The key has no value that could be compared with that of another one.
        """
        try:
            return encode_key(key)
        except UnusableKeyError as error:
            message = f"As key of a map state: {error}"
            raise UnusableKeyError(message) from None

    def member_mark(self, key: Any) -> bytes:
        """Return what is put in front of the content of an entry of a map."""
        return b"" if is_plain(key) else _MEMBER + with_length(self.classes.dumps(key))

    def map_key(self, member: bytes, data: bytes) -> Any:
        """Return the key of an entry of a map, from its member and its content."""
        if data.startswith(_OWNER):
            data = data[_end_of_mark(data) :]
        return self.reader.loads(_mark(data)) if data.startswith(_MEMBER) else decode_key(member)

    def dumps(self, value: Any) -> bytes:
        """Return the bytes of a value."""
        kind = type(value)
        if kind in _PLAIN or (kind is tuple and _PLAIN.issuperset(map(type, value))):
            return pickle.dumps(value, 5)
        return _WITH_CLASSES + self.classes.dumps(value)

    def loads(self, data: bytes, place: bytes) -> Any:
        """Return the value of some bytes that were found at a place.

        Raises:
            StateRestoreError: This program cannot read the value.
        """
        try:
            if data[0] == _PICKLE:
                return self._load_plain(data)
            while not data.startswith(_WITH_CLASSES):
                data = data[_end_of_mark(data) :]
                if data[0] == _PICKLE:
                    return self._load_plain(data)
            return self.reader.loads(memoryview(data)[1:])
        except Exception as error:
            state, key_group = self.info_at(place[2:HEAD]).name, int.from_bytes(place[:2], "big")
            problem = f"The state cannot be read by this program: {error}."
            raise StateRestoreError(problem, self.operator, state, key_group) from error

    def owner(self, place: bytes, data: bytes) -> tuple[Any, Any]:
        """Return the key and the namespace of a place, which holds some content."""
        middle = HEAD + _LENGTH.size + _LENGTH.unpack_from(place, HEAD)[0]
        is_marked = data.startswith(_OWNER)
        key = self.reader.loads(_mark(data)) if is_marked else decode_key(place[HEAD + _LENGTH.size : middle])
        return key, decode_namespace(place[middle + _LENGTH.size :], self.reader)

    def _key(self, key: Any) -> tuple[bytes, bytes, bytes]:
        group = self._group_bytes[key_group_of(key, self.max_parallelism)]
        mark = b"" if is_plain(key) else _OWNER + with_length(self.classes.dumps(key))
        return group, with_length(encode_key(key)), mark

    def _namespace(self, namespace: Any) -> bytes:
        return with_length(encode_namespace(namespace, self.classes))


def _end_of_mark(data: bytes) -> int:
    return int(1 + _LENGTH.size + _LENGTH.unpack_from(data, 1)[0])


def _mark(data: bytes) -> bytes:
    return data[1 + _LENGTH.size : _end_of_mark(data)]


def place_of(key: bytes) -> bytes:
    """Return the part of a stored key in front of its member."""
    middle = HEAD + _LENGTH.size + _LENGTH.unpack_from(key, HEAD)[0]
    return key[: middle + _LENGTH.size + _LENGTH.unpack_from(key, middle)[0]]
