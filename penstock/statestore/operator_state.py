"""State that belongs to a subtask instead of a key: lists, union lists and broadcast maps.

A snapshot is plain data (:class:`OperatorStateSnapshot`) whose content nobody changes any more. When a job comes
back, :func:`redistribute` gives each subtask its part of what all subtasks had, for any number of subtasks: the
elements of a list are spread, a union list goes to everybody in full, and a broadcast map, the same everywhere, is
handed on, also to those whose predecessor had none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.statestore.copying import copied
from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor
from penstock.vocabulary.state.handles import BroadcastState, ListState, OperatorStateStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["OperatorStateBackend", "OperatorStateSnapshot", "redistribute"]

_LIST = "list state"
_UNION = "union list state"
_BROADCAST = "broadcast state"


@dataclass(frozen=True)
class OperatorStateSnapshot:
    """The operator state of one subtask at one moment: per name, the content."""

    lists: dict[str, list[Any]] = field(default_factory=dict)
    unions: dict[str, list[Any]] = field(default_factory=dict)
    broadcasts: dict[str, dict[Any, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Tell whether there is any state."""
        return bool(self.lists or self.unions or self.broadcasts)


class OperatorStateBackend(OperatorStateStore):
    """Keeps the operator state of one operator of one subtask, always in memory.

    Asking twice for a name gives handles of the same content. Restored state waits for whoever asks for it, and is
    part of later snapshots even if nobody does.
    """

    def __init__(self) -> None:
        self._lists: dict[str, list[Any]] = {}
        self._unions: dict[str, list[Any]] = {}
        self._broadcasts: dict[str, dict[Any, Any]] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> BroadcastState[Any, Any]:
        """Return a map that is the same in all subtasks."""
        name = self._name(state_descriptor, MapStateDescriptor, _BROADCAST)
        return _MapInMemory(self._broadcasts.setdefault(name, {}))

    def get_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        """Return a list whose elements are spread over the subtasks again when a job is restored."""
        name = self._name(state_descriptor, ListStateDescriptor, _LIST)
        return _ListInMemory(self._lists.setdefault(name, []))

    def get_union_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> ListState[Any]:
        """Return a list that every subtask gets in full when a job is restored."""
        name = self._name(state_descriptor, ListStateDescriptor, _UNION)
        return _ListInMemory(self._unions.setdefault(name, []))

    def snapshot(self) -> OperatorStateSnapshot:
        """Return the state of now, apart from what happens to it later."""
        return OperatorStateSnapshot(
            lists={name: _copied(elements) for name, elements in self._lists.items()},
            unions={name: _copied(elements) for name, elements in self._unions.items()},
            broadcasts={
                name: dict(zip(entries, _copied(entries.values()), strict=True))
                for name, entries in self._broadcasts.items()
            },
        )

    def restore(self, snapshot: OperatorStateSnapshot) -> None:
        """Take over the part that ``redistribute`` has given to this subtask; handles that exist see it, too."""
        for name, elements in snapshot.lists.items():
            self._lists.setdefault(name, [])[:] = _copied(elements)
        for name, elements in snapshot.unions.items():
            self._unions.setdefault(name, [])[:] = _copied(elements)
        for name, entries in snapshot.broadcasts.items():
            content = self._broadcasts.setdefault(name, {})
            content.clear()
            content.update(zip(entries, _copied(entries.values()), strict=True))

    def _name(self, descriptor: Any, kind: type, asked: str) -> str:
        if not isinstance(descriptor, kind):
            message = f"A {kind.__name__} is needed for {asked}, not {descriptor!r}."
            raise ProgramError(message)
        name: str = descriptor.get_name()  # type: ignore[attr-defined]
        stores: dict[str, dict[str, Any]] = {_LIST: self._lists, _UNION: self._unions, _BROADCAST: self._broadcasts}
        for other, store in stores.items():
            if other != asked and name in store:
                message = f"The operator state {name!r} is {other} already; give the {asked} another name."
                raise ProgramError(message)
        return name


def redistribute(snapshots: Sequence[OperatorStateSnapshot], parallelism: int) -> list[OperatorStateSnapshot]:
    """Return what each of so many subtasks starts with, from what each of the former subtasks had, in their order.

    With the same number of subtasks every list stays where it was. Otherwise the elements, in the order of the former
    subtasks, are cut into parts that differ by one element at most.
    """
    if not snapshots:
        return [OperatorStateSnapshot() for _ in range(parallelism)]
    lists: list[dict[str, list[Any]]] = [{} for _ in range(parallelism)]
    for name in _names(snapshot.lists for snapshot in snapshots):
        parts = [snapshot.lists.get(name, []) for snapshot in snapshots]
        if len(parts) != parallelism:
            parts = _cut([element for part in parts for element in part], parallelism)
        for subtask, part in enumerate(parts):
            lists[subtask][name] = part
    unions = {
        name: [element for snapshot in snapshots for element in snapshot.unions.get(name, [])]
        for name in _names(snapshot.unions for snapshot in snapshots)
    }
    names = _names(snapshot.broadcasts for snapshot in snapshots)
    broadcasts = [{name: _broadcast(name, snapshots, subtask) for name in names} for subtask in range(parallelism)]
    return [OperatorStateSnapshot(lists[subtask], unions, broadcasts[subtask]) for subtask in range(parallelism)]


def _broadcast(name: str, snapshots: Sequence[OperatorStateSnapshot], subtask: int) -> dict[Any, Any]:
    """Return the map that a subtask goes on with: that of its predecessor, or of anybody who has reported one."""
    own = snapshots[subtask % len(snapshots)].broadcasts
    if name in own:
        return own[name]
    known = [snapshot.broadcasts[name] for snapshot in snapshots if name in snapshot.broadcasts]
    return known[subtask % len(known)]


def _names(stores: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for store in stores for name in store))


def _cut(elements: list[Any], parts: int) -> list[list[Any]]:
    size, rest = divmod(len(elements), parts)
    ends = [(part + 1) * size + min(part + 1, rest) for part in range(parts)]
    return [elements[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _copied(values: Iterable[Any]) -> list[Any]:
    return [copied(value) for value in values]


class _ListInMemory(ListState[Any]):
    """A list of the subtask."""

    def __init__(self, elements: list[Any]) -> None:
        self._elements = elements

    def get(self) -> list[Any]:
        return list(self._elements)

    def add(self, value: Any) -> None:
        self._elements.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        self._elements.extend(values)

    def update(self, values: Iterable[Any]) -> None:
        self._elements[:] = list(values)

    def clear(self) -> None:
        self._elements.clear()


class _MapInMemory(BroadcastState[Any, Any]):
    """A map of the subtask."""

    def __init__(self, entries: dict[Any, Any]) -> None:
        self._entries = entries
        # Bound once: a rule is looked up per record.
        self.get = entries.get  # type: ignore[method-assign, assignment]

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._entries.items())

    def keys(self) -> list[Any]:
        return list(self._entries)

    def values(self) -> list[Any]:
        return list(self._entries.values())

    def is_empty(self) -> bool:
        return not self._entries

    def clear(self) -> None:
        self._entries.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())
