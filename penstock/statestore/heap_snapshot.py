"""A frozen heap backend, and how it becomes bytes while the subtask goes on."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from penstock.errors import CheckpointError
from penstock.runtime.key_groups import key_group_of
from penstock.statestore.backend import StateSnapshot
from penstock.statestore.expiry import EXPIRY_SUFFIX, without_expired
from penstock.statestore.snapshot import BATCH_ENTRIES, KeyedStateWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.statestore.snapshot import Columns, StateInfo, Timer

__all__ = ["HeapSnapshot", "KeyGroups"]

_CACHED_KEYS = 1 << 21


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


class HeapSnapshot(StateSnapshot):
    """Copies of the dictionaries of one operator, and its timers."""

    def __init__(
        self,
        states: list[tuple[StateInfo, dict[Any, dict[Any, Any]]]],
        timers: list[Timer],
        *,
        expired_at: dict[str, int],
        operator: str,
        key_groups: range,
        groups: KeyGroups,
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(key_groups)
        self._states = states
        self._timers = timers
        self._expired_at = expired_at
        self._operator = operator
        self._groups = groups
        self._on_end: Callable[[], None] | None = on_end

    def encode(self, write: Callable[[bytes], object]) -> int:
        """Write the snapshot and return its size."""
        try:
            writer = KeyedStateWriter(write, operator=self._operator, max_parallelism=self._groups.max_parallelism)
            self._leave_out_expired()
            parts = [(info, self._by_key_group(info, namespaces)) for info, namespaces in self._states]
            timers: dict[int, list[Timer]] = defaultdict(list)
            for timer in self._timers:
                timers[self._groups[timer.key]].append(timer)
            for group in self.key_groups:
                states = [(info, _batches(*part[group])) for info, part in parts if group in part]
                writer.write_group(group, states, timers.get(group, ()))
            return writer.finish()
        finally:
            self.discard()

    def discard(self) -> None:
        """Let the state be changed freely again; nothing happens the second time."""
        on_end, self._on_end = self._on_end, None
        self._states = []
        if on_end is not None:
            on_end()

    def _leave_out_expired(self) -> None:
        content = {info.name: (info, namespaces) for info, namespaces in self._states}
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

    def _by_key_group(self, info: StateInfo, namespaces: dict[Any, dict[Any, Any]]) -> dict[int, Columns]:
        """Return the columns of each key group."""
        has_namespaces = list(namespaces) != [None]
        parts: dict[int, Columns] = {group: ([] if has_namespaces else None, [], []) for group in self.key_groups}
        groups = self._groups
        try:
            for namespace, entries in namespaces.items():
                for key, value in entries.items():
                    names, keys, values = parts[groups[key]]
                    keys.append(key)
                    values.append(value)
                    if names is not None:
                        names.append(namespace)
        except KeyError as error:
            message = (
                f"A key of the state {info.name!r} of operator {self._operator!r} belongs to key group {error}, but"
                f" this subtask owns {self.key_groups}: its hash differs between processes. Use keys of plain data."
            )
            raise CheckpointError(message) from error
        return {group: part for group, part in parts.items() if part[1]}


def _batches(namespaces: list[Any] | None, keys: list[Any], values: list[Any]) -> Iterator[Columns]:
    for start in range(0, len(keys), BATCH_ENTRIES):
        part = slice(start, start + BATCH_ENTRIES)
        yield None if namespaces is None else namespaces[part], keys[part], values[part]
