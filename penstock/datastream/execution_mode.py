"""The execution modes, at the place PyFlink gives them."""

from penstock.vocabulary.runtime_mode import (
    RuntimeExecutionMode,
)

__all__ = [
    "RuntimeExecutionMode",
]
