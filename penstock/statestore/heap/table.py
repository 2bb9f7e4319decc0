"""The dictionaries of the heap backend, and how a snapshot of them stands still while records go on changing them.

Freezing a table copies its dictionaries, not what is in them: a copy of a dictionary with a million entries takes a
few hundredths of a second. From then on, until the snapshot is stored, the handles do not look into the dictionaries
themselves but through a :class:`Guard`, which gives whoever asks for a mutable value a copy of its own, once per key.
What is frozen is therefore never changed, the thread that stores it needs no lock, and outside of snapshots a handle
pays nothing. Where the storing thread finds that nothing frozen can be changed, numbers, strings and tuples of them,
it takes the guard away at once.

Built-in operators ask for a dictionary itself, to be fast, and change what is in it. The values of such a table are
copied when it is frozen; for numbers, strings and tuples of them that is a glance at their types, for lists of them a
shallow copy.

The rule that remains for programs: a mutable value is theirs from ``value()`` or ``get()`` until the method returns.
An object that is kept elsewhere, in an attribute of the function or inside another object, and changed later without
asking the state for it again may show the change in a snapshot that was taken before it.
"""

from __future__ import annotations

import pickle
import weakref
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from penstock.statestore.copying import ATOMS, are_plain, copied
from penstock.statestore.snapshot_format import StateInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entries", "Guard", "HeapTable", "TableUser", "isolated_entries"]

_MISSING = object()


def isolated_entries(entries: dict[Any, Any]) -> dict[Any, Any]:
    """Return a copy of a dictionary with copies of its values, at the speed of C wherever the values are alike."""
    values = entries.values()
    if are_plain(values):
        return entries.copy()
    if set(map(type, values)) == {list} and are_plain(chain.from_iterable(values)):
        return {key: value[:] for key, value in entries.items()}
    try:
        # Far faster than deepcopy, and what cannot be pickled could not be stored.
        copies = pickle.loads(pickle.dumps(list(values), 5))
    except Exception:  # pickle raises whatever a value's own code raises
        return {key: copied(value) for key, value in entries.items()}
    return dict(zip(entries, copies, strict=True))


class Guard:
    """Stands between the handles and a dictionary whose values a snapshot also holds."""

    __slots__ = ("_containers", "_owned", "live")

    def __init__(self, live: dict[Any, Any]) -> None:
        self.live = live
        self._owned: set[Any] = set()
        self._containers: set[Any] = set()

    def get(self, key: Any, otherwise: Any = None) -> Any:
        """Return the value of a key, for the caller to change as it likes."""
        value = self.live.get(key, _MISSING)
        if value is _MISSING:
            return otherwise
        kind = type(value)
        if kind in ATOMS or (kind is tuple and ATOMS.issuperset(map(type, value))):
            return value
        if key not in self._owned:
            self._owned.add(key)
            value = self.live[key] = copied(value)
        return value

    def setdefault(self, key: Any, container: Any) -> Any:
        """Return the list or dict of a key, for the caller to add to or take from, but not to change its members."""
        found = self.live.get(key)
        if found is None:
            self.live[key] = container
            self._owned.add(key)
            return container
        if key not in self._owned and key not in self._containers:
            self._containers.add(key)
            found = self.live[key] = found.copy()
        return found

    def pop(self, key: Any, otherwise: Any = None) -> Any:
        """Forget a key."""
        return self.live.pop(key, otherwise)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.live[key] = value

    def __contains__(self, key: object) -> bool:
        return key in self.live

    def __iter__(self) -> Iterator[Any]:
        return iter(self.live)

    def __len__(self) -> int:
        return len(self.live)


Entries = dict[Any, Any] | Guard
"""What each key has, in one namespace."""


class TableUser(Protocol):
    """A handle that looks into one of the table's dictionaries."""

    _entries: Entries


class HeapTable:
    """The content of one state: per namespace, what each key has."""

    __slots__ = ("_freezes", "_frozen", "_users", "descriptor", "is_exposed", "kind", "name", "namespaces")

    def __init__(self, name: str, kind: str, descriptor: Any = None) -> None:
        self.name = name
        self.kind = kind
        self.descriptor = descriptor
        """What the program says of the state; ``None`` for restored state that it has not asked for."""
        self.namespaces: dict[Any, dict[Any, Any]] = {}
        self.is_exposed = False
        """Whether an operator works on the dictionaries themselves."""
        self._frozen: dict[int, Guard] | None = None
        self._freezes = 0
        self._users: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def info(self) -> StateInfo:
        """Return what the state is, besides its content."""
        ttl = None if self.descriptor is None else self.descriptor.ttl_config
        return StateInfo(self.name, self.kind, None if ttl is None else ttl.ttl_millis)

    @property
    def leaves_out_expired(self) -> bool:
        """Tell whether expired content does not go into snapshots."""
        ttl = None if self.descriptor is None else self.descriptor.ttl_config
        return ttl is not None and ttl.get_cleanup_strategies().in_full_snapshot()

    def all_keys(self) -> Iterator[tuple[Any, Any]]:
        """Return all namespaces and keys; content may change meanwhile."""
        for namespace, entries in list(self.namespaces.items()):
            for key in list(entries):
                yield namespace, key

    def entries(self, namespace: Any) -> dict[Any, Any]:
        """Return the dictionary of a namespace itself."""
        found = self.namespaces.get(namespace)
        if found is None:
            found = self.namespaces[namespace] = {}
        return found

    def forget_all(self) -> None:
        """Drop all content; the dictionaries that handles look into stay."""
        namespaces = self.namespaces
        if len(namespaces) > 1 or (namespaces and None not in namespaces):
            in_use = {id(_live(user._entries)) for user in self._users}
            for namespace in [name for name, entries in namespaces.items() if id(entries) not in in_use]:
                if namespace is not None:
                    del namespaces[namespace]
        for entries in namespaces.values():
            entries.clear()

    def view(self, namespace: Any) -> Entries:
        """Return what a handle looks into: the dictionary, or its guard while a snapshot is being stored."""
        found = self.namespaces.get(namespace)
        if found is None:
            found = self.namespaces[namespace] = {}
        return found if self._frozen is None else self._guard(self._frozen, found)

    def add_user(self, user: TableUser) -> None:
        """Tell the table of a handle."""
        self._users.add(user)

    def freeze(self) -> dict[Any, dict[Any, Any]]:
        """Return copies of the dictionaries whose values nobody changes until ``thaw``, which must be called once."""
        self._freezes += 1
        if self.is_exposed:
            return {name: isolated_entries(entries) for name, entries in self.namespaces.items() if entries}
        guards: dict[int, Guard] = {}
        self._frozen = guards
        for user in self._users:
            user._entries = self._guard(guards, _live(user._entries))
        return {namespace: entries.copy() for namespace, entries in self.namespaces.items() if entries}

    def thaw(self) -> None:
        """Let the handles look into the dictionaries again when it has been called for each ``freeze``."""
        self._freezes -= 1
        if self._freezes == 0:
            self._frozen = None
            for user in self._users:
                user._entries = _live(user._entries)

    @staticmethod
    def _guard(guards: dict[int, Guard], live: dict[Any, Any]) -> Guard:
        # Guards keep their dictionaries alive, so an id stays unique.
        found = guards.get(id(live))
        if found is None:
            found = guards[id(live)] = Guard(live)
        return found


def _live(entries: Entries) -> dict[Any, Any]:
    return entries.live if isinstance(entries, Guard) else entries
