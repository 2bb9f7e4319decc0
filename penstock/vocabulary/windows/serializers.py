"""How windows are written to bytes: big-endian 64-bit integers, as Flink writes them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from penstock.vocabulary.types.serializer import TypeSerializer
from penstock.vocabulary.windows.windows import CountWindow, GlobalWindow, TimeWindow

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["CountWindowSerializer", "GlobalWindowSerializer", "TimeWindowSerializer"]

_TWO_LONGS = struct.Struct(">qq")
_ONE_LONG = struct.Struct(">q")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a time window as its start and its end, 16 bytes."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        """Write the window to ``stream``."""
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        """Read a window from ``stream``."""
        start, end = _TWO_LONGS.unpack(stream.read(_TWO_LONGS.size))
        return TimeWindow(start, end)


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a count window as its number, 8 bytes."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        """Write the window to ``stream``."""
        stream.write(_ONE_LONG.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        """Read a window from ``stream``."""
        (number,) = _ONE_LONG.unpack(stream.read(_ONE_LONG.size))
        return CountWindow(number)


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the global window as one zero byte."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        """Write the window to ``stream``."""
        stream.write(b"\0")

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        """Read a window from ``stream``."""
        stream.read(1)
        return GlobalWindow.get()
