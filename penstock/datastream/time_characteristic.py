"""The kinds of time of a whole program, at the place PyFlink once gave them."""

from penstock.vocabulary.settings.modes import (
    TimeCharacteristic,
)

__all__ = [
    "TimeCharacteristic",
]
