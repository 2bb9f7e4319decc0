"""The settings of checkpointing, at the place PyFlink gives them."""

from penstock.vocabulary.checkpoint_config import CheckpointConfig

__all__ = ["CheckpointConfig"]
