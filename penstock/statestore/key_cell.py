"""The place of the current key, which state handles and timers read and operators write for every record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native

__all__ = ["KeyCell"]

if TYPE_CHECKING or native is None:

    class KeyCell:
        """Holds the key of the record being processed; without one, the attribute does not exist."""

        __slots__ = ("key",)

        key: Any
else:
    KeyCell = native.KeyCell
