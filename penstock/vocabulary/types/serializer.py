"""How values are written to and read from a stream of bytes by programs that bring their own form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import BinaryIO, Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type to a stream and reads them back, such as the windows of a custom assigner."""

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write a value to the stream."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read the value that `serialize` wrote at this place of the stream."""

    def __repr__(self) -> str:
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(type(self).__name__)


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Writes the namespace of state that belongs to no window, which takes no bytes at all."""

    def serialize(self, element: bytes, stream: BinaryIO) -> None:
        """Write nothing; a namespace that is not empty is refused."""
        if element:
            msg = f"State outside of windows has the empty namespace, not {element!r}."
            raise ValueError(msg)

    def deserialize(self, stream: BinaryIO) -> bytes:
        """Return the empty namespace and read nothing."""
        return b""
