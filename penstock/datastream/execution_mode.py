"""The execution modes, at the place PyFlink gives them."""

from penstock.vocabulary.settings.modes import (
    RuntimeExecutionMode,
)

__all__ = [
    "RuntimeExecutionMode",
]
