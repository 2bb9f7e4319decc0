"""The kinds of time of timers, at the place PyFlink gives them."""

from penstock.vocabulary.runtime_mode import (
    TimeDomain,
)

__all__ = [
    "TimeDomain",
]
