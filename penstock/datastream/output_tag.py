"""Tags of side outputs, at the place PyFlink gives them."""

from penstock.vocabulary.functions.output_tag import (
    OutputTag,
)

__all__ = [
    "OutputTag",
]
