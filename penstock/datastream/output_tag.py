"""Tags of side outputs, at the place PyFlink gives them."""

from penstock.vocabulary.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
