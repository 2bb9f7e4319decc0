"""The kinds of time of timers, at the place PyFlink gives them."""

from penstock.vocabulary.settings.modes import (
    TimeDomain,
)

__all__ = [
    "TimeDomain",
]
