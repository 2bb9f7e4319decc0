"""The file that a file sink is writing, as encoders and bulk writers see it."""

from __future__ import annotations

from typing import Any

__all__ = ["PartStream"]


class PartStream:
    """A binary stream that only the sink can end."""

    def __init__(self, file: Any, size: int = 0) -> None:
        self._file = file
        self._size = size
        self.closed = False

    def write(self, data: bytes) -> int:
        """Add bytes."""
        if not self.closed:
            self._file.write(data)
            self._size += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._size

    def flush(self) -> None:
        """Hand what is buffered to the file system."""
        if not self.closed:
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
        self._file.flush()

    def end(self) -> None:
        """Make everything durable and close the file."""
        self.persist()
        self.abandon()

    def abandon(self) -> None:
        """Close the file as it is; whatever is written from now on goes nowhere."""
        self.closed = True
        self._file.close()
