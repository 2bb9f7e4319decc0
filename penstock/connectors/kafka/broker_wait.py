"""Waiting for brokers that do not answer: said in the log, no longer than the job allows, in slices a cancel can end.

The client library does not return from a call when a signal comes. So hardly a call waits for longer than a slice;
between two of them a task that is cancelled leaves.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.client import describe
from penstock.errors import ExternalSystemError
from penstock.foundation.clock import monotonic_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RENEW_SECONDS", "SLICE_SECONDS", "BrokerWait", "SilentBrokersError"]

_log = logging.getLogger("penstock.connectors.kafka")

SLICE_SECONDS = 1.0
"""How long one call of the client library may wait."""
RENEW_SECONDS = 30.0
"""After this time without an answer a new client is made: one from before a broker's death may wait for it for ever."""
_FIRST_WORD_SECONDS = 10.0


class SilentBrokersError(ExternalSystemError):
    """The brokers have not answered a client for so long that another client should try."""


class BrokerWait:
    """One wait, from its first time-out on.

    Args:
        what: What is waited for, for log and error: "the commit of transaction 'a-0-1'".
        limit: The seconds after which it is given up.
        now: Counts seconds.
    """

    def __init__(self, what: str, limit: float, now: Callable[[], float] = monotonic_seconds) -> None:
        self._what = what
        self._limit = limit
        self._now = now
        self._begun = now()
        self._next_word = _FIRST_WORD_SECONDS

    @property
    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return self._now() - self._begun

    def again(self, problem: Any = None) -> None:
        """Take note of one more time-out.

        Raises:
            SilentBrokersError: It takes too long.
        """
        waited = self.seconds
        reason = "no answer" if problem is None else describe(problem)
        if waited >= self._limit:
            message = f"The Kafka brokers have not answered for {waited:.0f} s: {self._what}: {reason}."
            raise SilentBrokersError(message)
        if waited >= self._next_word:
            self._next_word = 2 * waited
            _log.warning("waiting for the Kafka brokers for %.0f s: %s: %s", waited, self._what, reason)
