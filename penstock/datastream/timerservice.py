"""The timer service, at the place PyFlink gives it."""

from penstock.vocabulary.functions.timer_service import (
    TimerService,
)

__all__ = [
    "TimerService",
]
