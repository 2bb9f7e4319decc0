"""Trying again what failed and may work later."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from penstock.errors import ExternalSystemError, ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_retries", "retry"]

T = TypeVar("T")

_LONGEST_PAUSE = 30_000


def check_retries(*, retries: int, retry_backoff: int, connect_timeout: int) -> None:
    """Refuse options of a connection that make no sense."""
    if retries < 0 or retry_backoff < 0 or connect_timeout <= 0:
        message = (
            f"retries ({retries}) and retry_backoff ({retry_backoff} ms) must not be negative, and connect_timeout "
            f"({connect_timeout} ms) must be positive."
        )
        raise ProgramError(message)


def retry(
    attempt: Callable[[], T],
    *,
    retries: int,
    backoff: int,
    may_pass: Callable[[Exception], bool],
    on_failure: Callable[[], None],
    wait: Callable[[float], None],
    place: str,
) -> T:
    """Call until it works, the failure is one that stays, or it was tried often enough.

    Args:
        attempt: What to do.
        retries: How often to try again.
        backoff: The milliseconds before the first retry; twice as many before each further one, at most 30 s.
        may_pass: Tells which failures may be gone later.
        on_failure: Called after each failure; closes what is broken.
        wait: Waits for a number of seconds.
        place: What is asked, for messages.
    """
    delay = backoff
    left = retries
    while True:
        try:
            return attempt()
        except Exception as error:
            on_failure()
            if not may_pass(error):
                raise
            if left == 0:
                message = (
                    f"{place} failed {retries + 1} times, at last with: {error}. The number of retries and the pauses "
                    "between them are options of the connection."
                )
                raise ExternalSystemError(message) from error
        left -= 1
        wait(delay / 1000)
        delay = min(2 * delay, _LONGEST_PAUSE)
