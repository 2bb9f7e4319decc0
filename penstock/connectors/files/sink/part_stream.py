"""The file that a file sink is writing, as encoders and bulk writers see it."""

from __future__ import annotations

from typing import Any

__all__ = ["PartStream"]

_BUFFER = 256 * 1024


class PartStream:
    """A binary stream that only the sink can end.

    Args:
        file: What bytes are written to, without a buffer of its own: what an abandoned stream still holds goes nowhere.
        size: How many bytes are there already.
    """

    def __init__(self, file: Any, size: int = 0) -> None:
        self._file = file
        self._size = size
        self._buffer: list[bytes] = []
        self._buffered = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Add bytes."""
        if self.closed:
            return len(data)
        self._buffer.append(data)
        self._buffered += len(data)
        self._size += len(data)
        if self._buffered >= _BUFFER:
            self._drain()
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._size

    def flush(self) -> None:
        """Hand what is buffered to the file system."""
        if not self.closed:
            self._drain()
            self._file.flush()

    def close(self) -> None:
        """Do nothing: a writer that closes its stream when it is finished would take it from the sink."""

    def readable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return False."""
        return False

    def persist(self) -> None:
        """Make what was written so far survive a crash of the machine, as far as the file system can."""
        self.flush()

    def end(self) -> None:
        """Make everything durable and close the file."""
        self.persist()
        self.abandon()

    def abandon(self) -> None:
        """Close the file as it is; what is buffered, and whatever is written from now on, goes nowhere."""
        self.closed = True
        self._buffer = []
        self._file.close()

    def _drain(self) -> None:
        if self._buffer:
            data, self._buffer, self._buffered = b"".join(self._buffer), [], 0
            self._file.write(data)
