"""How the keys of a table are spread over the key groups: worked out once and used again while the keys stay the same.

Storing a large table takes its time where keys are hashed, sorted into key groups and encoded; values are quick. From
one checkpoint to the next most keys stay, and a dictionary keeps their order, so the work on keys that were there
before is kept: comparing two lists of the same objects takes a hundredth of it. New keys come at the end of a
dictionary and are added to the layout; when keys are gone, it is made anew.

The passes over keys and values run in C without a break, for some thousand entries at a time, so that the subtask,
which shares the interpreter, is never held up for long.
"""

from __future__ import annotations

import pickle
from array import array
from collections import deque
from itertools import islice
from operator import call
from typing import TYPE_CHECKING, Any

from penstock.statestore.snapshot_format import BATCH_ENTRIES, KeyBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.statestore.snapshot_format import Columns

__all__ = ["KeyLayout", "spread"]

_AT_ONCE = 1 << 14
_MOST_BLOCKS = 32
"""When a key group has more blocks than this, most of them small, the layout is made anew."""
_PLAIN = frozenset({type(None), bool, int, float, str, bytes})


def spread(values: Iterable[Any], size: int, groups: Iterable[int], parts: Mapping[int, list[Any]]) -> None:
    """Add each value to the part of its key group.

    Raises:
        KeyError: A key group has no part.
    """
    appends = {group: part.append for group, part in parts.items()}
    adding = map(call, map(appends.__getitem__, groups), values)
    for _ in range(0, size, _AT_ONCE):
        deque(islice(adding, _AT_ONCE), maxlen=0)


class KeyLayout:
    """The keys of one dictionary by key group, encoded."""

    def __init__(self, key_groups: range) -> None:
        self.key_groups = key_groups
        self._keys: list[Any] = []
        self._groups = array("H")
        self._blocks: dict[int, list[KeyBlock]] = {group: [] for group in key_groups}

    @staticmethod
    def of(
        entries: dict[Any, Any], known: KeyLayout | None, key_groups: range, group_of: Callable[[Any], int]
    ) -> KeyLayout | None:
        """Return the layout of a dictionary, built on an earlier one; ``None`` if the keys are not plain data."""
        keys = list(entries)
        if known is not None and known.key_groups == key_groups and known.is_start_of(keys):
            return known.extended(keys, group_of)
        return KeyLayout(key_groups).extended(keys, group_of)

    def is_start_of(self, keys: list[Any]) -> bool:
        """Tell whether the keys of this layout are still there, in front of all others."""
        is_split_up = max(map(len, self._blocks.values()), default=0) > _MOST_BLOCKS
        return not is_split_up and keys[: len(self._keys)] == self._keys

    def extended(self, keys: list[Any], group_of: Callable[[Any], int]) -> KeyLayout | None:
        """Return a layout with the keys behind those of this one added; this one stays as it is."""
        new = keys[len(self._keys) :]
        if not new:
            return self
        kinds = set(map(type, new))
        if tuple in kinds:
            kinds = (kinds - {tuple}).union(*(map(type, key) for key in new if type(key) is tuple))
        if not _PLAIN.issuperset(kinds):
            return None  # classes have numbers that differ from snapshot to snapshot
        layout = KeyLayout(self.key_groups)
        layout._keys = keys
        added = array("H", map(group_of, new))
        layout._groups = self._groups + added
        parts: dict[int, list[Any]] = {group: [] for group in self.key_groups}
        spread(new, len(new), added, parts)
        layout._blocks = {group: self._blocks[group] + _encoded(parts[group]) for group in self.key_groups}
        return layout

    def columns(self, entries: dict[Any, Any]) -> dict[int, Iterator[Columns]]:
        """Return the batches of each key group for a dictionary with exactly these keys."""
        parts: dict[int, list[Any]] = {group: [] for group in self.key_groups}
        spread(entries.values(), len(entries), self._groups, parts)
        return {group: _batches(self._blocks[group], values) for group, values in parts.items() if values}


def _encoded(keys: list[Any]) -> list[KeyBlock]:
    starts = range(0, len(keys), BATCH_ENTRIES)
    chunks = [keys[start : start + BATCH_ENTRIES] for start in starts]
    return [KeyBlock(pickle.dumps((None, chunk), 5), len(chunk)) for chunk in chunks]


def _batches(blocks: list[KeyBlock], values: list[Any]) -> Iterator[Columns]:
    start = 0
    for block in blocks:
        yield None, block, values[start : start + block.size]
        start += block.size
