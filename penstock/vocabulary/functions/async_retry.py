"""When an asynchronous request is made again, and after how long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.errors import ProgramError

__all__ = [
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExceptionPredicate",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "ResultPredicate",
    "RetryPredicate",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

OUT = TypeVar("OUT")

ResultPredicate: TypeAlias = Callable[[list[OUT]], bool] | None
ExceptionPredicate: TypeAlias = Callable[[Exception], bool] | None


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Return whether a request gave no result."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Return whether a request failed at all."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Return whether a request failed with an exception of that type."""
    return isinstance(error, expected_error_type)


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Says which outcomes of a request call for another try."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate[OUT]:
        """Return the test of a result that came; None accepts every result."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate:
        """Return the test of an exception that came; None gives up on every exception."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Says whether and when a request is tried again; attempts count from 1, the first request."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another try may follow after so many attempts."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait after so many attempts before the next one."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the test of outcomes."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never tries again."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> AsyncRetryStrategy[OUT]:
        """Try again up to ``max_attempts`` times, after the same delay each time."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> AsyncRetryStrategy[OUT]:
        """Try again up to ``max_attempts`` times, after delays that grow by a factor up to a limit."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Is made of two tests, each of which may be None."""

    def __init__(
        self,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate[OUT]:
        """Return the test of a result that came."""
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate:
        """Return the test of an exception that came."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """Never tries again."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1, there is no next attempt."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return a predicate without tests."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Tries again up to ``max_attempts`` times, after the same delay each time."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> None:
        _require_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether there were no more than ``max_attempts`` attempts."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the test of outcomes."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Tries again up to ``max_attempts`` times, after delays that grow by a factor up to a limit."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> None:
        _require_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether there were no more than ``max_attempts`` attempts."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay after so many attempts, by the number alone: many requests share one strategy."""
        delay = float(self._initial_delay)
        for _ in range(current_attempts - 1):
            delay = min(delay * self._multiplier, self._max_retry_delay)
            if delay == self._max_retry_delay and self._multiplier >= 1:
                break
        return int(delay)

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the test of outcomes."""
        return self._predicate


def _require_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if number <= 0:
            msg = f"{name} of a retry strategy must be greater than zero, but is {number!r}."
            raise ProgramError(msg)
