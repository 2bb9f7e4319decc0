"""The settings of checkpointing, at the place PyFlink gives them."""

from penstock.vocabulary.settings.checkpoints import CheckpointConfig

__all__ = ["CheckpointConfig"]
