"""The kinds of time of a whole program, at the place PyFlink once gave them."""

from penstock.vocabulary.runtime_mode import (
    TimeCharacteristic,
)

__all__ = [
    "TimeCharacteristic",
]
