"""The checkpointing modes, at the place PyFlink gives them."""

from penstock.vocabulary.settings.modes import (
    CheckpointingMode,
)

__all__ = [
    "CheckpointingMode",
]
