"""Asynchronous functions and their retry strategies."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.async_retry import (
    AsyncRetryStrategy,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from penstock.vocabulary.functions.asynchronous import AsyncFunction, AsyncFunctionDescriptor
from penstock.vocabulary.time.durations import Time

ORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED


class Lookup(AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> list[str]:
        return [str(value)]


def test_a_timeout_fails_unless_the_function_answers_it() -> None:
    with pytest.raises(TimeoutError, match="7"):
        Lookup().timeout(7)


def test_no_retry_never_retries() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert strategy.get_retry_predicate().result_predicate() is None
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_a_fixed_delay_retries_so_many_times() -> None:
    strategy: AsyncRetryStrategy[str] = AsyncRetryStrategy.fixed_delay(
        3, 50, empty_result_predicate, has_exception_predicate
    )
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3, 4)] == [True, True, True, False]
    assert {strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3)} == {50}
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is empty_result_predicate
    assert predicate.exception_predicate() is has_exception_predicate


def test_an_exponential_delay_grows_up_to_its_limit_whoever_asked_before() -> None:
    strategy: AsyncRetryStrategy[str] = AsyncRetryStrategy.exponential_backoff(5, 100, 1000, 3.0, None, None)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5)] == [100, 300, 900, 1000, 1000]
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (3, 1, 3)] == [900, 100, 900]
    assert strategy.can_retry(5)
    assert not strategy.can_retry(6)


def test_retry_numbers_must_be_positive() -> None:
    with pytest.raises(ProgramError, match="max_attempts"):
        AsyncRetryStrategy.fixed_delay(0, 50, None, None)
    with pytest.raises(ProgramError, match="multiplier"):
        AsyncRetryStrategy.exponential_backoff(3, 50, 100, 0, None, None)


def test_the_predicates() -> None:
    assert empty_result_predicate([])
    assert empty_result_predicate(None)
    assert not empty_result_predicate([0])
    assert has_exception_predicate(KeyError())
    assert not has_exception_predicate(None)
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(KeyError(), OSError)


def test_a_descriptor_holds_the_choices_and_survives_pickling() -> None:
    descriptor = AsyncFunctionDescriptor(Lookup(), Time.seconds(2), 10, AsyncRetryStrategy.no_restart(), ORDERED)
    copy = pickle.loads(pickle.dumps(descriptor))
    assert (copy.timeout_ms, copy.capacity, copy.output_mode) == (2000, 10, ORDERED)
    assert isinstance(copy.async_function, Lookup)


@pytest.mark.parametrize(
    ("function", "timeout", "capacity", "error"),
    [
        (Lookup(), Time.seconds(1), 0, "capacity"),
        (Lookup(), Time.seconds(-1), 1, "timeout"),
        (print, Time.seconds(1), 1, "AsyncFunction"),
    ],
)
def test_wrong_choices_are_refused(function: Any, timeout: Time, capacity: int, error: str) -> None:
    with pytest.raises((ProgramError, TypeError), match=error):
        AsyncFunctionDescriptor(function, timeout, capacity, AsyncRetryStrategy.no_restart(), ORDERED)
