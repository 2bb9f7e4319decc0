"""What every keyed state backend offers, and the key all state handles of a subtask look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.errors import StateAccessError, StateRestoreError
from penstock.foundation.native import native
from penstock.statestore.handles import ENTRIES, KeyedStateHandle
from penstock.statestore.snapshot_format import KeyedStateReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.statestore.handles import SnapshotTarget, StateFiles
    from penstock.statestore.snapshot_format import Timer
    from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

__all__ = ["KeyCell", "KeyContext", "KeyedStateBackend", "NamespacedState", "StateSnapshot"]


if TYPE_CHECKING or native is None:

    class KeyCell:
        """Holds the key of the record being processed; without one, the attribute does not exist."""

        __slots__ = ("key",)

        key: Any
else:
    KeyCell = native.KeyCell


class KeyContext(KeyCell):
    """Holds the key of the record being processed.

    Operators assign ``key`` before they call a function; state handles and timers read it. Before the first
    assignment, and after ``forget``, reading it is an error with an explanation. Being without a key, and having
    listeners, are classes of their own: on the way of a record, ``key`` is a plain slot.
    """

    __slots__ = ("_on_key",)

    _on_key: list[Callable[[], None]]

    def __init__(self) -> None:
        self._on_key = []
        self.__class__ = _NoKeyContext

    def forget(self) -> None:
        """Leave the context of the key."""
        if not isinstance(self, _NoKeyContext):
            _plain_key.__delete__(self)
            self.__class__ = _NoKeyContext

    def current(self) -> tuple[Any, ...]:
        """Return the key in a tuple, an empty one if there is no current key."""
        return () if isinstance(self, _NoKeyContext) else (self.key,)

    def restore(self, current: tuple[Any, ...]) -> None:
        """Go back to what ``current`` returned."""
        if current:
            (self.key,) = current
        else:
            self.forget()

    def listen(self, call: Callable[[], None]) -> None:
        """Have something done whenever a key becomes current; only then does assigning one cost more than that."""
        self._on_key.append(call)
        if not isinstance(self, _NoKeyContext):
            self.__class__ = _HeardKeyContext


_plain_key: Any = vars(KeyCell)["key"]


class _HeardKeyContext(KeyContext):
    """A key context with listeners."""

    __slots__ = ()

    @property
    def key(self) -> Any:
        return _plain_key.__get__(self)

    @key.setter
    def key(self, key: Any) -> None:
        _plain_key.__set__(self, key)
        for call in self._on_key:
            call()


class _NoKeyContext(KeyContext):
    """A key context without a current key, until one is assigned."""

    __slots__ = ()

    @property
    def key(self) -> Any:
        message = (
            "Keyed state or a timer was used where there is no current key (in open(), close() or on the broadcast"
            " side). Use it in process_element(), on_timer() and the other methods that are called for a record of a"
            " keyed stream."
        )
        raise StateAccessError(message)

    @key.setter
    def key(self, key: Any) -> None:
        self.__class__ = _HeardKeyContext if self._on_key else KeyContext  # type: ignore[assignment]
        self.key = key


class NamespacedState(ABC):
    """A state handle whose content belongs to the current key and a namespace (a window; ``None`` for plain state)."""

    @abstractmethod
    def set_namespace(self, namespace: Any) -> None:
        """Look at another namespace from now on."""


class StateSnapshot(ABC):
    """The keyed state of one operator at one moment, on its way to the checkpoint storage.

    Making one is the synchronous part of a checkpoint and happens between two records; ``store`` is the asynchronous
    part and runs in a thread of its own while the subtask goes on. Exactly one of ``encode``, ``store`` and
    ``discard`` must be called.
    """

    def __init__(self, key_groups: range) -> None:
        self.key_groups = key_groups

    @abstractmethod
    def encode(self, write: Callable[[list[bytes]], object]) -> int:
        """Write the state in the form that every backend reads, and return its size; ``write`` takes parts in order."""

    @abstractmethod
    def discard(self) -> None:
        """Give up; nothing happens if the snapshot has been stored already."""

    def store(self, target: SnapshotTarget, name: str) -> KeyedStateHandle:
        """Store the state and return where it is."""
        output = target.create(name, checks_itself=True)
        try:
            self.encode(lambda parts: output.write(*parts))
            stored = output.finish()
        except BaseException:
            output.discard()
            raise
        return KeyedStateHandle(self.key_groups.start, self.key_groups.stop, ENTRIES, (("", stored),))


class KeyedStateBackend(ABC):
    """Keeps the keyed state of one operator of one subtask.

    A state is identified by the name of its descriptor; asking twice gives handles of the same content.
    """

    compresses_snapshots = False
    """Whether snapshots that are written entry by entry are compressed."""

    @property
    def is_empty(self) -> bool:
        """Tell whether the operator has never asked for state, nor got any back: then there is nothing to store."""
        return False

    @abstractmethod
    def value_state(self, descriptor: Any, namespace: Any = None) -> ValueState[Any]:
        """Return a handle of a state with one value per key."""

    @abstractmethod
    def list_state(self, descriptor: Any, namespace: Any = None) -> ListState[Any]:
        """Return a handle of a state with a list per key."""

    @abstractmethod
    def map_state(self, descriptor: Any, namespace: Any = None) -> MapState[Any, Any]:
        """Return a handle of a state with a map per key."""

    @abstractmethod
    def reducing_state(self, descriptor: Any, namespace: Any = None) -> ReducingState[Any]:
        """Return a handle of a state that reduces what is added."""

    @abstractmethod
    def aggregating_state(self, descriptor: Any, namespace: Any = None) -> AggregatingState[Any, Any]:
        """Return a handle of a state that aggregates what is added."""

    @abstractmethod
    def state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of the kind that the descriptor describes."""

    @abstractmethod
    def drop_namespace(self, descriptor_name: str, namespace: Any) -> None:
        """Forget the bookkeeping of a namespace that holds nothing any more."""

    @abstractmethod
    def keys(self, descriptor_name: str, namespace: Any = None) -> list[Any]:
        """Return the keys that have content in a state."""

    @abstractmethod
    def snapshot(self, key_groups: range, max_parallelism: int, timers: Iterable[Timer] = ()) -> StateSnapshot:
        """Freeze the state of now: the synchronous part of a checkpoint."""

    @abstractmethod
    def restore(self, snapshots: Iterable[KeyedStateReader], key_groups: range, max_parallelism: int) -> list[Timer]:
        """Take over the given key groups of snapshots; the timers among them are for the caller to register."""

    def restore_handles(
        self,
        handles: Iterable[KeyedStateHandle],
        files: StateFiles,
        key_groups: range,
        max_parallelism: int,
        checkpoint_id: int | None = None,
    ) -> list[Timer]:
        """Take over the given key groups of what a checkpoint has stored; the timers are for the caller to register.

        Args:
            handles: The state, some of whose key groups may belong to other subtasks.
            files: Where the bytes of the handles are.
            key_groups: The key groups of this subtask.
            max_parallelism: The number of key groups in all.
            checkpoint_id: The checkpoint, if it is one of this job, whose files later checkpoints may refer to.
        """
        readers: list[KeyedStateReader] = []
        for handle in handles:
            if handle.form != ENTRIES:
                problem = (
                    f"The checkpoint holds the files of another state backend ({handle.form}). Restore it with that"
                    " backend, take a savepoint, and restore the savepoint with the new one."
                )
                raise StateRestoreError(problem)
            readers.extend(KeyedStateReader(files.open(stored), classes=files.classes) for _, stored in handle.files)
        return self.restore(readers, key_groups, max_parallelism)

    def close(self) -> None:  # noqa: B027 - memory needs no closing
        """Release what the backend holds outside of memory."""
