"""What happens to checkpoints when a job ends, at the place PyFlink gives it."""

from penstock.vocabulary.settings.modes import (
    ExternalizedCheckpointRetention,
)

__all__ = [
    "ExternalizedCheckpointRetention",
]
