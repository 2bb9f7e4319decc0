"""Where stored state is: what a subtask acknowledges to the coordinator and gets back when the job is restored.

Handles are small, picklable and plain. A location is relative to the directory of its checkpoint, so that a
savepoint, or a whole directory of checkpoints, can be moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.foundation.files.local import StateInput
    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["ENTRIES", "ROCKSDB", "KeyedStateHandle", "SnapshotTarget", "StateFiles", "StateOutput", "StoredBytes"]

ENTRIES = "entries"
"""The form of :mod:`penstock.statestore.snapshot_format`, which every backend reads."""
ROCKSDB = "rocksdb"
"""The files of a RocksDB, which only that backend reads."""


@dataclass(frozen=True)
class StoredBytes:
    """Bytes that were stored, in a file or, if they are few, right here."""

    location: str | None
    """The path of the file, relative to the checkpoint's directory; ``None`` if the bytes are here."""
    size: int
    checksum: int | None
    """CRC-32 of the bytes; ``None`` if their form has checksums of its own."""
    data: bytes | None = None
    is_shared: bool = False
    """Whether checkpoints share the file; it goes when the last of them goes."""


@dataclass(frozen=True)
class KeyedStateHandle:
    """The keyed state of one operator for a range of key groups."""

    start: int
    """The first key group."""
    stop: int
    """The key group behind the last."""
    form: str
    """``ENTRIES`` or ``ROCKSDB``."""
    files: tuple[tuple[str, StoredBytes], ...]
    """The bytes by the names that the backend gave them."""

    @property
    def key_groups(self) -> range:
        """Return the key groups."""
        return range(self.start, self.stop)

    @property
    def size(self) -> int:
        """Return the number of bytes, shared ones included."""
        return sum(stored.size for _, stored in self.files)

    @property
    def new_size(self) -> int:
        """Return the number of bytes that no earlier checkpoint had stored, an upper bound where bytes are shared."""
        return sum(stored.size for _, stored in self.files if not stored.is_shared)


class StateOutput(Protocol):
    """Takes the bytes of one file of a snapshot."""

    def write(self, *parts: bytes) -> object:
        """Add bytes, one part behind the other."""

    def finish(self) -> StoredBytes:
        """Make the bytes durable and say where they are."""

    def discard(self) -> None:
        """Forget the bytes."""


class SnapshotTarget(Protocol):
    """Where the asynchronous part of a snapshot puts its bytes; several threads may use it."""

    checkpoint_id: int | None
    """The checkpoint whose files later ones may refer to; ``None`` if it is a savepoint or the last state of a task."""
    reusable: int | None
    """The checkpoint whose shared files this one may refer to."""
    is_savepoint: bool
    """Whether the state must be in the form that every backend reads."""

    def create(self, name: str, *, checks_itself: bool = False) -> StateOutput:
        """Begin a file that belongs to this checkpoint alone; few bytes stay in the handle.

        If it ``checks_itself``, the form of the bytes has checksums, and another one over all of them is saved.
        """

    def store_file(self, name: str, path: Path, *, is_shared: bool) -> StoredBytes:
        """Store a local file, where later checkpoints find it if it is shared."""


class StateFiles(Protocol):
    """Gives access to what handles point to."""

    classes: StoredClasses
    """Finds the classes of the values there."""

    def open(self, stored: StoredBytes) -> StateInput:
        """Return the bytes for reading at any place."""

    def read(self, stored: StoredBytes) -> bytes:
        """Return all bytes, checked."""

    def fetch(self, stored: StoredBytes, path: Path) -> None:
        """Copy the bytes into a local file and check them."""
