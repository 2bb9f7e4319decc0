"""How large a record may be that is sent to another step."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from penstock.errors import SerializationError
from penstock.vocabulary.settings.configuration import Configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_RECORD_BYTES", "MAX_RECORD_SIZE", "most_record_bytes", "too_large"]

MAX_RECORD_SIZE = "penstock.max-record-size"
DEFAULT_RECORD_BYTES = 512 << 20
"""A record is held several times on its way: by its sender, encoded on both sides, and by its receiver."""


def most_record_bytes(options: Mapping[str, Any]) -> int:
    """Return the most bytes that a record may have when it is encoded."""
    return Configuration.from_dict(options).get_memory_size(MAX_RECORD_SIZE, DEFAULT_RECORD_BYTES)


def too_large(value: Any, size: int, most: int) -> SerializationError:
    """Return the error for a record of so many bytes."""
    return SerializationError(
        f"A record of {size:,} bytes cannot be sent to the next step: {MAX_RECORD_SIZE} is {most:,} bytes."
        f" The record is {_SHORT.repr(value)}. Emit several smaller records, or store what is large elsewhere and emit"
        f" where it is; or raise {MAX_RECORD_SIZE}, if the memory of the workers is large enough."
    )


class _ShortText(reprlib.Repr):
    """Shows the beginning of a value without making a text of all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = 80

    def repr_bytes(self, value: bytes, _: int) -> str:
        """Show the first bytes."""
        return repr(value) if len(value) <= self.maxstring else f"{bytes(value[: self.maxstring])!r}..."

    repr_bytearray = repr_bytes

    def repr_instance(self, value: Any, _: int) -> str:
        """Show what cannot be cut by its type only."""
        return repr(value) if isinstance(value, (int, float, type(None))) else f"<{type(value).__name__}>"


_SHORT = _ShortText()
