"""Keyed state in RocksDB: for state that is larger than memory, with incremental checkpoints.

Each operator of each subtask has a database of its own in a local directory, which goes with the backend. A restored
subtask that owns the same key groups as before takes over the files; otherwise it reads its key groups out of the
files of several.
"""

from __future__ import annotations

import shutil
import weakref
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError, StateRestoreError
from penstock.foundation.clock import SystemClock
from penstock.foundation.private_directory import private_directory, remove_private_directory
from penstock.statestore.backend import KeyedStateBackend
from penstock.statestore.expiry import EXPIRY_SUFFIX, CleanUp, expiring_handle, times_descriptor
from penstock.statestore.handles import ENTRIES
from penstock.statestore.rocksdb.database import Database, open_read_only
from penstock.statestore.rocksdb.layout import HEAD, Layout, place_of
from penstock.statestore.rocksdb.settings import DatabaseSettings
from penstock.statestore.rocksdb.snapshot import META, TIMERS, RocksSnapshot, UploadedFiles
from penstock.statestore.rocksdb.states import ROCKSDB_HANDLES
from penstock.statestore.snapshot_format import KeyedStateReader, StateInfo
from penstock.statestore.state_kinds import KINDS, kind_mismatch, kind_of, require_max_parallelism

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.statestore.backend import KeyContext
    from penstock.statestore.expiry import ExpiringState
    from penstock.statestore.handles import KeyedStateHandle, StateFiles
    from penstock.statestore.snapshot_format import Timer
    from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend
    from penstock.vocabulary.state.descriptors import StateDescriptor

__all__ = ["RocksDBKeyedStateBackend"]


class RocksDBKeyedStateBackend(KeyedStateBackend):
    """Keeps state as bytes in a RocksDB.

    Args:
        keys: Where the current key is found.
        operator: The operator's id, for messages.
        description: What the program asked for.
        max_parallelism: The number of key groups in all.
        now: The clock by which state expires, the machine's own unless given.
    """

    def __init__(
        self,
        keys: KeyContext,
        operator: str,
        description: EmbeddedRocksDBStateBackend,
        max_parallelism: int,
        now: Callable[[], int] | None = None,
    ) -> None:
        self._keys = keys
        self._operator = operator
        self._description = description
        self._now = SystemClock().now if now is None else now
        self._settings = DatabaseSettings.of(description)
        paths = description.get_db_storage_paths()
        for path in paths or ():
            Path(path).mkdir(parents=True, exist_ok=True)
        # Operators spread over the given disks by their names.
        chosen = paths[hash(operator) % len(paths)] if paths else None
        self._directory = private_directory("rocksdb", chosen)
        self._remove_directory = weakref.finalize(self, remove_private_directory, self._directory)
        self._layout = Layout(operator, max_parallelism)
        self._opened: Database | None = None
        self._descriptors: dict[str, StateDescriptor] = {}
        self._clean_ups: dict[str, CleanUp] = {}
        self._forgotten: set[str] = set()
        """States of timestamps that are known to be empty."""
        self._uploaded = UploadedFiles()
        self._snapshots = count(1)

    @property
    def _database(self) -> Database:
        # Opened late: a restored subtask may bring the files.
        if self._opened is None:
            self._opened = Database(self._directory / "db", self._settings)
        return self._opened

    def value_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with one value per key."""
        return self._handle(descriptor, "value", namespace)

    def list_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with a list per key."""
        return self._handle(descriptor, "list", namespace)

    def map_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with a map per key."""
        return self._handle(descriptor, "map", namespace)

    def reducing_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state that reduces what is added."""
        return self._handle(descriptor, "reducing", namespace)

    def aggregating_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state that aggregates what is added."""
        return self._handle(descriptor, "aggregating", namespace)

    def state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of the kind that the descriptor describes."""
        return self._handle(descriptor, kind_of(descriptor), namespace)

    def drop_namespace(self, descriptor_name: str, namespace: Any) -> None:
        """Do nothing: a namespace without content takes no room."""

    def keys(self, descriptor_name: str, namespace: Any = None) -> list[Any]:
        """Return the keys that have content in a state, after a look at all its entries."""
        owners = self._owners(descriptor_name)
        return [key for found, key in owners if found == namespace]

    @property
    def is_empty(self) -> bool:
        """Tell whether no state is known."""
        return not self._layout.states

    def snapshot(self, key_groups: range, max_parallelism: int, timers: Iterable[Timer] = ()) -> RocksSnapshot:
        """Link to the files of now: the synchronous part of a checkpoint."""
        directory = self._directory / f"snapshot-{next(self._snapshots)}"
        self._database.link_to(directory)
        expiring = {
            name: self._now()
            for name, descriptor in self._descriptors.items()
            if descriptor.ttl_config is not None and descriptor.ttl_config.get_cleanup_strategies().in_full_snapshot()
        }
        return RocksSnapshot(
            directory,
            self._layout,
            list(timers),
            operator=self._operator,
            key_groups=key_groups,
            uploaded=self._uploaded,
            is_incremental=self._description.is_incremental_checkpoints_enabled(),
            transfer_threads=self._description.get_number_of_transfer_threads(),
            expired_at=expiring,
            compresses=self.compresses_snapshots,
        )

    def restore(self, snapshots: Iterable[KeyedStateReader], key_groups: range, max_parallelism: int) -> list[Timer]:
        """Take over the given key groups of snapshots; the timers among them are for the caller to register."""
        timers: list[Timer] = []
        for reader in snapshots:
            require_max_parallelism(reader, max_parallelism, self._operator)
            for _, info, (namespaces, keys, values) in reader.read(key_groups):
                state = self._layout.declare(info)
                for number, (key, value) in enumerate(zip(keys, values, strict=True)):
                    namespace = None if namespaces is None else namespaces[number]
                    self._put_entry(info.kind, state, key, namespace, value)
            timers.extend(reader.read_timers(key_groups))
        return timers

    def restore_handles(
        self,
        handles: Iterable[KeyedStateHandle],
        files: StateFiles,
        key_groups: range,
        max_parallelism: int,
        checkpoint_id: int | None = None,
    ) -> list[Timer]:
        """Take over the files of a database, or the given key groups of several databases or snapshots."""
        handles = list(handles)
        timers: list[Timer] = []
        for handle in handles:
            stored = dict(handle.files)
            if handle.form == ENTRIES:
                readers = [
                    KeyedStateReader(files.open(each), operator=self._operator, classes=files.classes)
                    for each in stored.values()
                ]
                timers.extend(self.restore(readers, key_groups, max_parallelism))
                continue
            if META not in stored:
                problem = f"The checkpoint holds state of another backend ({handle.form}); restore it with that one."
                raise StateRestoreError(problem, self._operator)
            if TIMERS in stored:
                reader = KeyedStateReader(files.open(stored[TIMERS]), classes=files.classes)
                timers.extend(reader.read_timers(key_groups))
            layout = Layout.of(self._operator, max_parallelism, files.open(stored[META]), files.classes)
            is_only_one = len(handles) == 1 and handle.key_groups == key_groups and self._opened is None
            # The names of classes are part of keys: where one has changed, entries are written anew.
            is_only_one = is_only_one and not files.classes.renames(layout.classes.schemas())
            directory = self._directory / ("db" if is_only_one else "import")
            directory.mkdir()
            for name, each in handle.files:
                if name not in (META, TIMERS):
                    files.fetch(each, directory / name)
            if is_only_one:
                self._layout = layout
                if checkpoint_id is not None:
                    self._uploaded.add(checkpoint_id, handle.files)
            else:
                self._import(directory, layout, key_groups)
                shutil.rmtree(directory)
        return timers

    def close(self) -> None:
        """Close the database and remove its files."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        self._remove_directory()

    def _import(self, directory: Path, layout: Layout, key_groups: range) -> None:
        """Copy the entries of some key groups out of the files of another database, in their order."""
        rocks = open_read_only(directory)
        try:
            for key, value in rocks.items(from_key=key_groups.start.to_bytes(2, "big")):
                if int.from_bytes(key[:2], "big") >= key_groups.stop:
                    break
                info = layout.info_at(key[2:HEAD])
                place = place_of(key)
                owner, namespace = layout.owner(place, value)
                content = layout.loads(value, place)
                if info.kind == "list":
                    content = [content]
                elif info.kind == "map":
                    content = {layout.map_key(key[len(place) :], value): content}
                self._put_entry(info.kind, self._layout.declare(info), owner, namespace, content)
        finally:
            rocks.close()

    def _put_entry(self, kind: str, state: bytes, key: Any, namespace: Any, value: Any) -> None:
        layout, database = self._layout, self._database
        group, encoded, mark = layout.key(key)
        place = group + state + encoded + layout.namespace(namespace)
        if kind == "list":
            for element in value:
                database.put_member(place, layout.element(), mark + layout.dumps(element))
        elif kind == "map":
            for member, content in value.items():
                marks = mark + layout.member_mark(member)
                database.put_member(place, layout.member(member), marks + layout.dumps(content))
        else:
            database.put(place, mark + layout.dumps(value))

    def _places(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Return the places of a state, one per key and namespace, and what comes first at each."""
        info = self._layout.states.get(name)
        if info is None:
            return
        state = self._layout.declare(info)
        for group in range(self._layout.max_parallelism):
            last = b""
            for key, value in self._database.scan(group.to_bytes(2, "big") + state):
                place = place_of(key)
                if place != last:
                    yield place, value
                    last = place

    def _declare(self, descriptor: StateDescriptor) -> bytes:
        name, kind = descriptor.get_name(), kind_of(descriptor)
        known = self._layout.states.get(name)
        if known is not None and known.kind != kind:
            is_restored = name not in self._descriptors
            raise kind_mismatch(name, known.kind, kind, self._operator, is_restored=is_restored)
        self._descriptors[name] = descriptor
        ttl = descriptor.ttl_config
        return self._layout.declare(StateInfo(name, kind, None if ttl is None else ttl.ttl_millis))

    def _handle(self, descriptor: Any, kind: str, namespace: Any) -> Any:
        if not isinstance(descriptor, KINDS[kind]):
            message = f"A {KINDS[kind].__name__} is needed here, not {descriptor!r}."
            raise ProgramError(message)
        state = self._declare(descriptor)
        if descriptor.ttl_config is not None:
            return self._expiring_handle(descriptor, state, namespace)
        self._forget_times(descriptor.get_name() + EXPIRY_SUFFIX)
        return self._plain_handle(kind, state, descriptor, namespace)

    def _plain_handle(self, kind: str, state: bytes, descriptor: Any, namespace: Any) -> Any:
        return ROCKSDB_HANDLES[kind](self._keys, self._database, self._layout, state, descriptor, namespace)

    def _expiring_handle(self, descriptor: StateDescriptor, state: bytes, namespace: Any) -> ExpiringState:
        name = descriptor.get_name()
        clean_up = self._clean_ups.get(name)
        if clean_up is None:
            config: Any = descriptor.ttl_config
            strategy = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
            if strategy is not None:
                entries = max(1, strategy.get_query_time_after_num_entries())
                clean_up = self._clean_ups[name] = CleanUp(
                    self._new_expiring_handle(descriptor, state, namespace),
                    self._keys,
                    lambda: self._owners(name + EXPIRY_SUFFIX),
                    size=entries,
                    every=entries,
                )
        handle = self._new_expiring_handle(descriptor, state, namespace)
        handle.on_access = None if clean_up is None else clean_up.on_access
        return handle

    def _new_expiring_handle(self, descriptor: StateDescriptor, state: bytes, namespace: Any) -> ExpiringState:
        times = times_descriptor(descriptor)
        self._forgotten.discard(times.get_name())
        beside, kind = self._declare(times), kind_of(times)
        content_kind = "raw" if kind == "value" else kind
        content = self._plain_handle(content_kind, state, descriptor, namespace)
        return expiring_handle(descriptor, content, self._plain_handle(kind, beside, times, namespace), self._now)

    def _owners(self, name: str) -> Iterator[tuple[Any, Any]]:
        for place, value in self._places(name):
            key, namespace = self._layout.owner(place, value)
            yield namespace, key

    def _forget_times(self, name: str) -> None:
        """Remove the timestamps of a state that has no time to live any more."""
        info = self._layout.states.get(name)
        if info is not None and name not in self._forgotten:
            self._forgotten.add(name)
            state = self._layout.declare(info)
            for group in range(self._layout.max_parallelism):
                for key, _ in list(self._database.scan(group.to_bytes(2, "big") + state)):
                    self._database.put(key, None)
