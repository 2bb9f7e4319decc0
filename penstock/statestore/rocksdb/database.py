"""One RocksDB with a write buffer in front of it, and the layout of its keys.

::

    key group (2 bytes) | state (2 bytes) | length, key | length, namespace                  one value
    key group (2 bytes) | state (2 bytes) | length, key | length, namespace | member         an element of a list or
    entry of a map

The first part of a key, up to the namespace, is its *place*. Numbers are big-endian, so that all content of a key
group, of a state and of a key lies together. A member is the encoded key of a map entry, or the 8-byte number of a
list element: numbers only grow, so that adding to a list reads nothing.

Writes gather in dictionaries and go to RocksDB in batches. There is no write-ahead log: what makes state durable is
the checkpoint.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from penstock.statestore.rocksdb.settings import DatabaseSettings, rocksdict_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Database", "open_read_only"]

_BUFFERED_WRITES = 8192
_MISSING: Any = object()


class Database:
    """A RocksDB in a local directory; used by one thread."""

    def __init__(self, path: Path, settings: DatabaseSettings) -> None:
        rocksdict = rocksdict_library()
        self.path = path
        self._batch = rocksdict.WriteBatch
        self._checkpoint = rocksdict.Checkpoint
        self._rocks = rocksdict.Rdict(str(path), settings.options())
        writing = rocksdict.WriteOptions()
        writing.disable_wal = True
        self._rocks.set_write_options(writing)
        self._read: Callable[[bytes], bytes | None] = self._rocks.get
        self._values: dict[bytes, bytes | None] = {}
        self._members: dict[bytes, dict[bytes, bytes | None]] = {}
        self._buffered_members = 0

    def get(self, place: bytes) -> bytes | None:
        """Return the value of a place."""
        found: bytes | None = self._values.get(place, _MISSING)
        return self._read(place) if found is _MISSING else found

    def put(self, place: bytes, value: bytes | None) -> None:
        """Set the value of a place; ``None`` removes it."""
        self._values[place] = value
        if len(self._values) >= _BUFFERED_WRITES:
            self.flush()

    def get_member(self, place: bytes, member: bytes) -> bytes | None:
        """Return a member of a list or map."""
        members = self._members.get(place)
        found: bytes | None = _MISSING if members is None else members.get(member, _MISSING)
        return self._read(place + member) if found is _MISSING else found

    def put_member(self, place: bytes, member: bytes, value: bytes | None) -> None:
        """Set a member of a list or map; ``None`` removes it."""
        members = self._members.get(place)
        if members is None:
            members = self._members[place] = {}
        members[member] = value
        self._buffered_members += 1
        if self._buffered_members >= _BUFFERED_WRITES:
            self.flush()

    def members(self, place: bytes) -> list[tuple[bytes, bytes]]:
        """Return all members of a list or map, in their order."""
        start = len(place)
        found: dict[bytes, bytes | None] = {key[start:]: value for key, value in self._scan(place)}
        buffered = self._members.get(place)
        if buffered:
            found.update(buffered)
            return sorted((member, value) for member, value in found.items() if value is not None)
        return [(member, value) for member, value in found.items() if value is not None]

    def clear_members(self, place: bytes) -> None:
        """Remove all members of a list or map."""
        buffered = self._members.pop(place, {})
        self._buffered_members -= len(buffered)
        for key, _ in list(self._scan(place)):
            self.put_member(place, key[len(place) :], None)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Return everything whose key begins with a prefix, as it is now."""
        self.flush()
        return self._scan(prefix)

    def flush(self) -> None:
        """Hand what was gathered to RocksDB."""
        if not self._values and not self._members:
            return
        batch = self._batch(raw_mode=True)
        for key, value in self._values.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        for place, members in self._members.items():
            for member, value in members.items():
                if value is None:
                    batch.delete(place + member)
                else:
                    batch.put(place + member, value)
        self._rocks.write(batch)
        self._values.clear()
        self._members.clear()
        self._buffered_members = 0

    def link_to(self, directory: Path) -> None:
        """Make a directory with hard links to all files of now, which never change."""
        self.flush()
        self._rocks.flush()
        self._checkpoint(self._rocks).create_checkpoint(str(directory))

    def close(self) -> None:
        """Close RocksDB and remove its files."""
        self._values.clear()
        self._members.clear()
        self._rocks.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def _scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key, value in self._rocks.items(from_key=prefix):
            if not key.startswith(prefix):
                return
            yield key, value


def open_read_only(path: Path) -> Any:
    """Open the files of a snapshot for reading; ``items`` and ``get`` work on raw bytes."""
    rocksdict = rocksdict_library()
    return rocksdict.Rdict(str(path), DatabaseSettings().options(), access_type=rocksdict.AccessType.read_only())
