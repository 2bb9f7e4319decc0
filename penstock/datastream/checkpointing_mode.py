"""The checkpointing modes, at the place PyFlink gives them."""

from penstock.vocabulary.runtime_mode import (
    CheckpointingMode,
)

__all__ = [
    "CheckpointingMode",
]
