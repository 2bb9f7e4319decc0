"""Reads the files of a RocksDB that a checkpoint has stored, without a backend and without a copy of its entries."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from penstock.errors import CorruptCheckpointError
from penstock.foundation.private_directory import private_directory, remove_private_directory
from penstock.statestore.rocksdb.database import open_read_only
from penstock.statestore.rocksdb.layout import HEAD, Layout, place_of
from penstock.statestore.rocksdb.snapshot import META, TIMERS, EntryReader
from penstock.statestore.snapshot_format import KeyedStateReader

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from penstock.statestore.handles import KeyedStateHandle, StateFiles
    from penstock.statestore.snapshot_format import Columns, StateInfo, Timer

__all__ = ["DatabaseReader", "open_database"]


class DatabaseReader:
    """Reads the entries of a stored database; what has expired and is still there counts."""

    def __init__(self, rocks: Any, layout: Layout, timers: KeyedStateReader | None) -> None:
        self._rocks = rocks
        self._layout = layout
        self._timers = timers

    def read(self, key_groups: Container[int]) -> Iterator[tuple[int, StateInfo, Columns]]:
        """Return the batches of the given key groups: key group, state, columns."""
        entries = EntryReader(self._rocks, self._layout, {})
        for group, rows in groupby(self._rocks.items(), key=lambda row: row[0][:2]):
            key_group = int.from_bytes(group, "big")
            if key_group in key_groups:
                for info, batches in entries.states(rows):
                    for columns in batches:
                        yield key_group, info, columns

    def read_timers(self, key_groups: Container[int]) -> Iterator[Timer]:
        """Return the timers of the given key groups."""
        return iter(()) if self._timers is None else self._timers.read_timers(key_groups)

    def counts(self) -> list[tuple[StateInfo, int]]:
        """Return how many entries each state has, without a look at the values."""
        places: Counter[bytes] = Counter()
        for place, _ in groupby(place_of(key) for key, _ in self._rocks.items()):
            places[place[2:HEAD]] += 1
        return [(self._layout.info_at(state), number) for state, number in places.items()]

    @property
    def timers(self) -> list[int]:
        """Return how many timers wait for the watermark, and how many for the clock."""
        return [0, 0] if self._timers is None else self._timers.timers


@contextmanager
def open_database(
    handle: KeyedStateHandle, files: StateFiles, operator: str, max_parallelism: int
) -> Iterator[DatabaseReader]:
    """Give a reader of the database that a handle points to."""
    stored = dict(handle.files)
    database = f"the database of {operator!r}"
    if META not in stored:
        raise CorruptCheckpointError(database, "has no description")
    layout = Layout.of(operator, max_parallelism, files.open(stored[META]), files.classes)
    timers = None
    if TIMERS in stored:
        timers = KeyedStateReader(files.open(stored[TIMERS]), operator=operator, classes=files.classes)
    directory = private_directory("savepoint")
    try:
        for name, each in handle.files:
            if name not in (META, TIMERS):
                files.fetch(each, directory / name)
        try:
            rocks = open_read_only(directory)
        except Exception as error:  # RocksDB has no class of errors
            raise CorruptCheckpointError(database, f"cannot be opened ({error})") from error
        try:
            yield DatabaseReader(rocks, layout, timers)
        finally:
            rocks.close()
    finally:
        remove_private_directory(directory)
