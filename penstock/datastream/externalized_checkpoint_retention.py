"""What happens to checkpoints when a job ends, at the place PyFlink gives it."""

from penstock.vocabulary.runtime_mode import (
    ExternalizedCheckpointRetention,
)

__all__ = [
    "ExternalizedCheckpointRetention",
]
