"""What every keyed state backend offers, and the key all state handles of a subtask look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.errors import StateAccessError

if TYPE_CHECKING:
    from penstock.vocabulary.state import AggregatingState, ListState, MapState, ReducingState, ValueState

__all__ = ["KeyContext", "KeyedStateBackend", "NamespacedState"]


class KeyContext:
    """Holds the key of the record being processed.

    Operators assign ``key`` before they call a function; state handles and timers read it. Before the first assignment,
    and after ``forget``, reading it is an error with an explanation; that costs nothing on the way of a record.
    """

    __slots__ = ("key",)

    key: Any

    def __getattr__(self, name: str) -> Any:
        if name != "key":
            raise AttributeError(name)
        message = (
            "Keyed state or a timer was used where there is no current key (in open(), close() or on the broadcast"
            " side). Use it in process_element(), on_timer() and the other methods that are called for a record of a"
            " keyed stream."
        )
        raise StateAccessError(message)

    def forget(self) -> None:
        """Leave the context of the key."""
        if hasattr(type(self), "key"):
            try:
                del self.key
            except AttributeError:
                return


class NamespacedState(ABC):
    """A state handle whose content belongs to the current key and a namespace (a window; ``None`` for plain state)."""

    @abstractmethod
    def set_namespace(self, namespace: Any) -> None:
        """Look at another namespace from now on."""


class KeyedStateBackend(ABC):
    """Keeps the keyed state of one operator of one subtask.

    A state is identified by the name of its descriptor; asking twice gives handles of the same content.
    """

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
