"""The timer service, at the place PyFlink gives it."""

from penstock.vocabulary.functions.contexts import (
    TimerService,
)

__all__ = [
    "TimerService",
]
