"""Asynchronous requests for the records of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.argument_checks import check_function, step_name
from penstock.api.connected_streams import check_same_environment
from penstock.graph.steps import AsyncWaitStep
from penstock.vocabulary.functions.async_retry import AsyncRetryStrategy
from penstock.vocabulary.functions.asynchronous import AsyncFunction, AsyncFunctionDescriptor

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["AsyncDataStream"]

_ORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED
_UNORDERED = AsyncFunctionDescriptor.OutputMode.UNORDERED


class AsyncDataStream:
    """Adds steps that wait for something outside, many records at a time.

    In all of them ``timeout`` is the time for all attempts of a record, after which ``AsyncFunction.timeout`` answers,
    and ``capacity`` the number of records that may be without an answer; more of them have to wait.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: TimeLength,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Emit answers as they come; only watermarks are not overtaken."""
        strategy = AsyncRetryStrategy.no_restart()
        return _wait(data_stream, async_function, timeout, capacity, strategy, _UNORDERED, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: TimeLength,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Emit answers as they come; ask again where the strategy says so."""
        return _wait(data_stream, async_function, timeout, capacity, async_retry_strategy, _UNORDERED, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: TimeLength,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Emit answers in the order of the records."""
        strategy = AsyncRetryStrategy.no_restart()
        return _wait(data_stream, async_function, timeout, capacity, strategy, _ORDERED, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[Any],
        async_function: AsyncFunction[Any, Any],
        timeout: TimeLength,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Emit answers in the order of the records; ask again where the strategy says so."""
        return _wait(data_stream, async_function, timeout, capacity, async_retry_strategy, _ORDERED, output_type)


def _wait(
    data_stream: DataStream[Any],
    async_function: Any,
    timeout: TimeLength,
    capacity: int,
    strategy: Any,
    mode: AsyncFunctionDescriptor.OutputMode,
    output_type: Any,
) -> DataStream[Any]:
    call = "ordered_wait" if mode is _ORDERED else "unordered_wait"
    check_same_environment(call, data_stream, data_stream)
    check_function(async_function, AsyncFunction, call, allow_callable=False)
    wanted = AsyncFunctionDescriptor(async_function, timeout, capacity, strategy, mode)
    step = AsyncWaitStep(
        function=async_function,
        timeout=wanted.timeout_ms,
        capacity=wanted.capacity,
        retry_strategy=wanted.async_retry_strategy,
        is_ordered=mode is _ORDERED,
    )
    return data_stream._then(step_name("Async Wait", async_function), step, output_type)
