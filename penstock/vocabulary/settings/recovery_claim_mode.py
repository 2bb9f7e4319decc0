"""Who owns the savepoint or checkpoint that a job starts from."""

from __future__ import annotations

from enum import Enum

__all__ = ["RecoveryClaimMode"]


class RecoveryClaimMode(Enum):
    """What a job may do with the snapshot it starts from."""

    CLAIM = "CLAIM"
    """The job owns it, as if it were a checkpoint of its own: it is deleted when newer ones replace it."""
    NO_CLAIM = "NO_CLAIM"
    """The job leaves it alone, and needs nothing of it any more once its own first checkpoint is complete."""
    LEGACY = "LEGACY"
    """Flink's way before 1.15, which it has deprecated: never deleted, and maybe needed for ever. Here as NO_CLAIM."""

    @staticmethod
    def of(name: str) -> RecoveryClaimMode:
        """Returns the mode of a name, in any case.

        Raises:
            ValueError: There is no such mode.
        """
        try:
            return RecoveryClaimMode[name.strip().upper().replace("-", "_")]
        except KeyError:
            names = ", ".join(mode.name for mode in RecoveryClaimMode)
            message = f"The claim mode is one of {names}, not {name!r}."
            raise ValueError(message) from None
