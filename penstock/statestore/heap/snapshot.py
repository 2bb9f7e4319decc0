"""A frozen heap backend, and how it becomes bytes while the subtask goes on."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import CheckpointError
from penstock.foundation.keys.groups import key_group_of
from penstock.statestore.backend import StateSnapshot
from penstock.statestore.copying import are_plain
from penstock.statestore.expiry import EXPIRY_SUFFIX, without_expired
from penstock.statestore.key_layout import KeyLayout, spread
from penstock.statestore.snapshot_format import BATCH_ENTRIES, KeyedStateWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.statestore.snapshot_format import Columns, StateInfo, Timer

__all__ = ["FrozenTable", "HeapSnapshot", "KeyGroups"]

_CACHED_KEYS = 1 << 21
_SEPARATE = 0.9
"""From this share of different texts on, writing some of them twice costs less than looking for them."""


class KeyGroups(dict[Any, int]):
    """The key group of each key, computed on first sight: hashing a key takes longer than storing its value."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__()
        self.max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        if len(self) >= _CACHED_KEYS:
            self.clear()
        group = self[key] = key_group_of(key, self.max_parallelism)
        return group


class FrozenTable(NamedTuple):
    """Copies of the dictionaries of one state."""

    info: StateInfo
    namespaces: dict[Any, dict[Any, Any]]
    thaw: Callable[[], None]
    """Lets the program change values freely again; only the first call counts."""


class HeapSnapshot(StateSnapshot):
    """Copies of the dictionaries of one operator, and its timers."""

    def __init__(
        self,
        tables: list[FrozenTable],
        timers: list[Timer],
        *,
        expired_at: dict[str, int],
        operator: str,
        key_groups: range,
        groups: KeyGroups,
        layouts: dict[str, KeyLayout],
        compresses: bool = False,
    ) -> None:
        super().__init__(key_groups)
        self._tables = tables
        self._timers = timers
        self._expired_at = expired_at
        self._operator = operator
        self._groups = groups
        self._layouts = layouts
        self._compresses = compresses

    def encode(self, write: Callable[[list[bytes]], object]) -> int:
        """Write the snapshot and return its size."""
        try:
            writer = KeyedStateWriter(
                write,
                operator=self._operator,
                max_parallelism=self._groups.max_parallelism,
                compresses=self._compresses,
            )
            writer.separate.update(self._thaw_plain_tables())
            self._leave_out_expired()
            parts = [(table.info, self._by_key_group(table)) for table in self._tables if table.namespaces]
            timers: dict[int, list[Timer]] = defaultdict(list)
            for timer in self._timers:
                timers[self._groups[timer.key]].append(timer)
            for group in self.key_groups:
                states = [(info, part[group]) for info, part in parts if group in part]
                writer.write_group(group, states, timers.get(group, ()))
            return writer.finish()
        finally:
            self.discard()

    def discard(self) -> None:
        """Let the state be changed freely again; nothing happens the second time."""
        tables, self._tables = self._tables, []
        for table in tables:
            table.thaw()

    def _thaw_plain_tables(self) -> Iterator[str]:
        """Take the guard away from what cannot be changed: every access during the snapshot would pay for it.

        Returns the names of those states among them whose values are separate objects.
        """
        for table in self._tables:
            if all(are_plain(entries.values()) for entries in table.namespaces.values()):
                table.thaw()
                if all(_are_separate(entries.values()) for entries in table.namespaces.values()):
                    yield table.info.name

    def _leave_out_expired(self) -> None:
        content = {table.info.name: (table.info, table.namespaces) for table in self._tables}
        for name, now in self._expired_at.items():
            if name not in content or name + EXPIRY_SUFFIX not in content:
                continue
            info, namespaces = content[name]
            for namespace, times in content[name + EXPIRY_SUFFIX][1].items():
                entries = namespaces.get(namespace, {})
                for key in list(times):
                    if key in entries:
                        kept = without_expired(info.kind, entries[key], times[key], info.ttl_millis or 0, now)
                        if kept[0] is None:
                            del entries[key], times[key]
                        else:
                            entries[key], times[key] = kept

    def _by_key_group(self, table: FrozenTable) -> Mapping[int, Iterable[Columns]]:
        """Return the batches of each key group."""
        info, namespaces = table.info, table.namespaces
        try:
            if list(namespaces) == [None]:
                entries, group_of = namespaces[None], self._groups.__getitem__
                layout = KeyLayout.of(entries, self._layouts.get(info.name), self.key_groups, group_of)
                if layout is not None:
                    self._layouts[info.name] = layout
                    return layout.columns(entries)
            return self._spread(namespaces)
        except KeyError as error:
            message = (
                f"A key of the state {info.name!r} of operator {self._operator!r} belongs to key group {error}, but"
                f" this subtask owns {self.key_groups}: its hash differs between processes. Use keys of plain data."
            )
            raise CheckpointError(message) from error

    def _spread(self, namespaces: dict[Any, dict[Any, Any]]) -> dict[int, Iterator[Columns]]:
        names: dict[int, list[Any]] = {group: [] for group in self.key_groups}
        keys: dict[int, list[Any]] = {group: [] for group in self.key_groups}
        values: dict[int, list[Any]] = {group: [] for group in self.key_groups}
        for namespace, entries in namespaces.items():
            groups = list(map(self._groups.__getitem__, entries))
            spread(repeat(namespace), len(entries), groups, names)
            spread(entries, len(entries), groups, keys)
            spread(entries.values(), len(entries), groups, values)
        return {group: _batches(names[group], keys[group], values[group]) for group in self.key_groups if keys[group]}


def _are_separate(values: Iterable[Any]) -> bool:
    """Tell by a sample whether texts among plain values are rarely the same object."""
    sample = [each if type(each) is tuple else (each,) for each in islice(values, BATCH_ENTRIES)]
    texts = [id(member) for each in sample for member in each if type(member) in (str, bytes)]
    return len(set(texts)) >= _SEPARATE * len(texts)


def _batches(namespaces: list[Any], keys: list[Any], values: list[Any]) -> Iterator[Columns]:
    for start in range(0, len(keys), BATCH_ENTRIES):
        part = slice(start, start + BATCH_ENTRIES)
        yield namespaces[part], keys[part], values[part]
