"""A snapshot of a RocksDB: hard links to its files, which are stored as they are or, for savepoints, entry by entry.

Files of RocksDB never change, so an incremental checkpoint stores only those that no earlier one has stored. Which
may be referred to is said by the coordinator, with the barrier: only files of a checkpoint that is complete and still
there.

Timers are kept in memory and stored in full with every checkpoint, in a file of their own.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.statestore.backend import StateSnapshot
from penstock.statestore.expiry import EXPIRY_SUFFIX, without_expired
from penstock.statestore.handles import ROCKSDB, KeyedStateHandle
from penstock.statestore.rocksdb.database import open_read_only
from penstock.statestore.rocksdb.layout import HEAD, Layout, place_of
from penstock.statestore.snapshot_format import BATCH_ENTRIES, KeyedStateWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from penstock.statestore.handles import SnapshotTarget, StoredBytes
    from penstock.statestore.snapshot_format import Columns, StateInfo, Timer

__all__ = ["META", "TIMERS", "EntryReader", "RocksSnapshot", "UploadedFiles"]

META = "meta"
"""The file of a handle that says what the states and classes of the database are."""
TIMERS = "timers"
"""The file of a handle that holds the timers."""

_Row = tuple[bytes, bytes]


class UploadedFiles:
    """Remembers, for each checkpoint, where the files of the database were stored."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, StoredBytes]] = {}

    def of(self, checkpoint_id: int | None) -> dict[str, StoredBytes]:
        """Return the shared files of a checkpoint; older ones will not be asked for again."""
        if checkpoint_id is None:
            return {}
        for older in [known for known in self._known if known < checkpoint_id]:
            del self._known[older]
        return self._known.get(checkpoint_id, {})

    def add(self, checkpoint_id: int, files: Iterable[tuple[str, StoredBytes]]) -> None:
        """Take note of the files of a checkpoint."""
        self._known[checkpoint_id] = {name: stored for name, stored in files if stored.is_shared}


class RocksSnapshot(StateSnapshot):
    """The files of a database at one moment."""

    def __init__(
        self,
        directory: Path,
        layout: Layout,
        timers: list[Timer],
        *,
        operator: str,
        key_groups: range,
        uploaded: UploadedFiles,
        is_incremental: bool,
        transfer_threads: int,
        expired_at: dict[str, int],
        compresses: bool = False,
    ) -> None:
        super().__init__(key_groups)
        self._compresses = compresses
        self._directory = directory
        # The running layout learns new states and classes; this one reads what was known when the files were frozen.
        self._meta = layout.meta()
        self._max_parallelism = layout.max_parallelism
        self._timers = timers
        self._operator = operator
        self._uploaded = uploaded
        self._is_incremental = is_incremental
        self._transfer_threads = transfer_threads
        self._expired_at = expired_at

    def store(self, target: SnapshotTarget, name: str) -> KeyedStateHandle:
        """Store the files that no earlier checkpoint has stored; a savepoint is written entry by entry."""
        if target.is_savepoint:
            return super().store(target, name)
        try:
            known = self._uploaded.of(target.reusable)
            paths = sorted(self._directory.iterdir())

            def stored(path: Path) -> StoredBytes:
                is_table = path.suffix == ".sst"
                if is_table and path.name in known:
                    return known[path.name]
                return target.store_file(f"{name}-{path.name}", path, is_shared=is_table and self._is_incremental)

            with ThreadPoolExecutor(self._transfer_threads) as threads:
                files = list(zip((path.name for path in paths), threads.map(stored, paths), strict=True))
            files.append((META, _store(target, f"{name}-{META}", lambda write: write([self._meta]))))
            if self._timers:
                files.append((TIMERS, _store(target, f"{name}-{TIMERS}", self._write_timers)))
            if target.checkpoint_id is not None:
                self._uploaded.add(target.checkpoint_id, files)
            return KeyedStateHandle(self.key_groups.start, self.key_groups.stop, ROCKSDB, tuple(files))
        finally:
            self.discard()

    def encode(self, write: Callable[[list[bytes]], object]) -> int:
        """Write the state in the form that every backend reads, and return its size."""
        rocks = open_read_only(self._directory)
        try:
            layout = Layout(self._operator, self._max_parallelism, self._meta)
            reader = EntryReader(rocks, layout, self._expired_at)
            writer = KeyedStateWriter(
                write, operator=self._operator, max_parallelism=self._max_parallelism, compresses=self._compresses
            )
            timers = self._timers_by_group()
            for group, rows in groupby(rocks.items(), key=lambda row: row[0][:2]):
                key_group = int.from_bytes(group, "big")
                writer.write_group(key_group, reader.states(rows), timers.pop(key_group, ()))
            for key_group, waiting in timers.items():
                writer.write_group(key_group, (), waiting)
            return writer.finish()
        finally:
            rocks.close()
            self.discard()

    def discard(self) -> None:
        """Remove the links."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _write_timers(self, write: Callable[[list[bytes]], object]) -> None:
        writer = KeyedStateWriter(write, operator=self._operator, max_parallelism=self._max_parallelism)
        for key_group, waiting in self._timers_by_group().items():
            writer.write_group(key_group, (), waiting)
        writer.finish()

    def _timers_by_group(self) -> dict[int, list[Timer]]:
        groups: dict[int, list[Timer]] = defaultdict(list)
        layout = Layout(self._operator, self._max_parallelism)
        for timer in self._timers:
            groups[int.from_bytes(layout.key(timer.key)[0], "big")].append(timer)
        return groups


class EntryReader:
    """Turns rows of a database, in their order, into entries."""

    def __init__(self, rocks: Any, layout: Layout, expired_at: dict[str, int]) -> None:
        self._rocks = rocks
        self._layout = layout
        self._expired_at = expired_at

    def states(self, rows: Iterable[_Row]) -> Iterator[tuple[StateInfo, Iterator[Columns]]]:
        """Return the states of one key group with their batches."""
        for state, of_state in groupby(rows, key=lambda row: row[0][2:HEAD]):
            info = self._layout.info_at(state)
            yield info, self._batches(info, of_state)

    def _batches(self, info: StateInfo, rows: Iterable[_Row]) -> Iterator[Columns]:
        namespaces: list[Any] = []
        keys: list[Any] = []
        values: list[Any] = []
        for place, of_place in groupby(((place_of(key), key, value) for key, value in rows), key=itemgetter(0)):
            found = [row[1:] for row in of_place]
            value = self._kept(info, place, self._value(info.kind, place, found))
            if value is not None:
                key, namespace = self._layout.owner(place, found[0][1])
                namespaces.append(namespace)
                keys.append(key)
                values.append(value)
            if len(keys) == BATCH_ENTRIES:
                yield namespaces, keys, values
                namespaces, keys, values = [], [], []
        if keys:
            yield namespaces, keys, values

    def _value(self, kind: str, place: bytes, rows: list[_Row]) -> Any:
        loads = self._layout.loads
        if kind == "list":
            return [loads(value, place) for _, value in rows]
        if kind == "map":
            return {self._layout.map_key(key[len(place) :], value): loads(value, place) for key, value in rows}
        return loads(rows[0][1], place)

    def _kept(self, info: StateInfo, place: bytes, value: Any) -> Any:
        """Return what is not expired of a value, or of the timestamps of one."""
        name = info.name.removesuffix(EXPIRY_SUFFIX)
        now = self._expired_at.get(name)
        if now is None:
            return value
        ttl = self._layout.states[name].ttl_millis or 0
        if name != info.name:
            return without_expired(info.kind, value, value, ttl, now)[1]
        times = self._layout.states.get(name + EXPIRY_SUFFIX)
        if times is None:
            return value
        beside = place[:2] + self._layout.declare(times) + place[HEAD:]
        rows = []
        for key, content in self._rocks.items(from_key=beside):
            if place_of(key) != beside:
                break
            rows.append((key, content))
        if not rows:
            return value
        return without_expired(info.kind, value, self._value(times.kind, beside, rows), ttl, now)[0]


def _store(target: SnapshotTarget, name: str, fill: Callable[[Callable[[list[bytes]], object]], object]) -> StoredBytes:
    output = target.create(name)
    try:
        fill(lambda parts: output.write(*parts))
        return output.finish()
    except BaseException:
        output.discard()
        raise
