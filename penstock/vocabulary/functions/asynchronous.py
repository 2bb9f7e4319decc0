"""Functions that wait for something outside, many records at a time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.functions.async_retry import AsyncRetryStrategy
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["AsyncFunction", "AsyncFunctionDescriptor"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Answers each record with a coroutine; the coroutines of many records run at the same time in one event loop."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the results for the record; raising fails the job unless the retry strategy tries again."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return the results for a record whose request took too long; raise unless overridden."""
        msg = f"The asynchronous request for {value!r} timed out; override timeout() to give a result instead."
        raise TimeoutError(msg)


@dataclass(frozen=True)
class AsyncFunctionDescriptor:
    """Says how an asynchronous function runs: for how long, how many at a time, in which order."""

    class OutputMode(Enum):
        """Says whether results keep the order of the records."""

        ORDERED = 0
        UNORDERED = 1

    async_function: AsyncFunction[Any, Any]
    timeout: TimeLength
    capacity: int
    async_retry_strategy: AsyncRetryStrategy[Any]
    output_mode: AsyncFunctionDescriptor.OutputMode

    def __post_init__(self) -> None:
        require_instance(self.async_function, AsyncFunction, "Asynchronous steps need an AsyncFunction.")
        require_instance(
            self.async_retry_strategy, AsyncRetryStrategy, "Write for example AsyncRetryStrategy.fixed_delay(...)."
        )
        if self.capacity <= 0:
            msg = f"The capacity, the number of requests at a time, must be positive, but is {self.capacity!r}."
            raise ProgramError(msg)
        if self.timeout_ms < 0:
            msg = f"The timeout of asynchronous requests must not be negative, but is {self.timeout!r}."
            raise ProgramError(msg)

    @property
    def timeout_ms(self) -> int:
        """The timeout in milliseconds, over all attempts for a record; 0 waits for ever."""
        return to_millis(self.timeout)
