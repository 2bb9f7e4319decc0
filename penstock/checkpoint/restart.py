"""Decides whether a failed job is started again, and after which pause.

A policy is the running side of a :class:`~penstock.vocabulary.settings.restarts.RestartStrategyConfiguration`. It is
asked once per failure of the job and knows nothing but the times it is told, so that every strategy is tested without
waiting.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.vocabulary.settings.restarts import UNLIMITED_ATTEMPTS, RestartStrategies

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.settings.restarts import RestartStrategyConfiguration

__all__ = [
    "ExponentialDelayPolicy",
    "FailureRatePolicy",
    "FixedDelayPolicy",
    "NoRestartPolicy",
    "RestartPolicy",
    "restart_policy",
]


class RestartPolicy(ABC):
    """Answers each failure of a job with a pause before the next run, or with the end of the job."""

    @abstractmethod
    def on_failure(self, now: int) -> int | None:
        """Return the milliseconds to wait before the job starts again, or None if it has failed for good."""


class NoRestartPolicy(RestartPolicy):
    """Lets the first failure be the last."""

    def on_failure(self, now: int) -> None:
        """End the job."""
        return


class FixedDelayPolicy(RestartPolicy):
    """Restarts a number of times: a job that always fails runs once and then ``attempts`` times more."""

    def __init__(self, attempts: int, delay: int) -> None:
        self._left = attempts
        self._delay = delay

    def on_failure(self, now: int) -> int | None:
        """Return the delay as long as attempts are left."""
        if self._left == 0:
            return None
        self._left -= 1
        return self._delay


class FailureRatePolicy(RestartPolicy):
    """Restarts until more than ``max_failures`` fall within one interval, counting the failure at hand.

    With three failures per five minutes, the fourth failure ends the job if the first of the four is at most five
    minutes old; this is what Flink does, although "three per interval" is often read as if the third one ended it.
    """

    def __init__(self, max_failures: int, interval: int, delay: int) -> None:
        self._interval = interval
        self._delay = delay
        self._failures: deque[int] = deque(maxlen=max_failures + 1)

    def on_failure(self, now: int) -> int | None:
        """Return the delay unless the interval that ends now holds too many failures."""
        self._failures.append(now)
        is_full = len(self._failures) == self._failures.maxlen
        return None if is_full and now - self._failures[0] <= self._interval else self._delay


class ExponentialDelayPolicy(RestartPolicy):
    """Lengthens the pause with each failure; a long enough run without failure makes it short again.

    Args:
        initial: The first pause and the shortest one.
        longest: The longest pause.
        multiplier: What a failure multiplies the pause with.
        reset_after: A run of this length counts as healthy.
        jitter: The part of a pause by which chance lengthens or shortens it, so that jobs that failed together do not
            return together.
        attempts: How many restarts there may be before a healthy run makes the pause short again.
        chance: Returns numbers from 0 to 1.
    """

    def __init__(
        self,
        *,
        initial: int,
        longest: int,
        multiplier: float,
        reset_after: int,
        jitter: float,
        attempts: int = UNLIMITED_ATTEMPTS,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._initial = initial
        self._longest = longest
        self._multiplier = multiplier
        self._reset_after = reset_after
        self._jitter = jitter
        self._attempts = attempts
        self._restarts = 0
        self._chance = chance
        self._backoff: float | None = None
        self._restarted_at = 0

    def on_failure(self, now: int) -> int | None:
        """Return the next pause, never below the initial one nor above the longest, as long as attempts are left."""
        if self._backoff is None or now - self._restarted_at >= self._reset_after:
            self._backoff = self._initial
            self._restarts = 0
        else:
            self._backoff = min(self._backoff * self._multiplier, self._longest)
        self._restarts += 1
        if self._restarts > self._attempts:
            return None
        swing = self._backoff * self._jitter * (2 * self._chance() - 1)
        delay = round(max(self._initial, min(self._longest, self._backoff + swing)))
        self._restarted_at = now + delay
        return delay


def restart_policy(
    configuration: RestartStrategyConfiguration | None,
    *,
    is_checkpointing: bool,
    chance: Callable[[], float] = random.random,
) -> RestartPolicy:
    """Return the policy that a configuration asks for.

    Where nothing is asked for, a job with checkpoints restarts with exponential delay and one without them does not
    restart at all.
    """
    match configuration:
        case None | RestartStrategies.FallbackRestartStrategyConfiguration():
            if not is_checkpointing:
                return NoRestartPolicy()
            return restart_policy(
                RestartStrategies.exponential_delay_restart(), is_checkpointing=is_checkpointing, chance=chance
            )
        case RestartStrategies.NoRestartStrategyConfiguration():
            return NoRestartPolicy()
        case RestartStrategies.FixedDelayRestartStrategyConfiguration() as fixed:
            return FixedDelayPolicy(fixed.restart_attempts, fixed.delay_ms)
        case RestartStrategies.FailureRateRestartStrategyConfiguration() as rate:
            return FailureRatePolicy(rate.max_failure_rate, rate.failure_interval_ms, rate.delay_ms)
        case RestartStrategies.ExponentialDelayRestartStrategyConfiguration() as exponential:
            return ExponentialDelayPolicy(
                initial=exponential.initial_backoff_ms,
                longest=exponential.max_backoff_ms,
                multiplier=exponential.backoff_multiplier,
                reset_after=exponential.reset_backoff_threshold_ms,
                jitter=exponential.jitter_factor,
                attempts=exponential.attempts_before_reset_backoff,
                chance=chance,
            )
    message = f"{configuration!r} is no restart strategy of Penstock; make one with RestartStrategies."
    raise ProgramError(message)
