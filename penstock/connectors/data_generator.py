"""The source of generated records: a function of their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.rate_limiter import RateLimiterStrategy
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.connectors.rate_limiter import RateLimiter

__all__ = ["DataGeneratorSource", "GeneratorFunction"]

T = TypeVar("T")


class GeneratorFunction(ABC, Generic[T]):
    """Makes records of numbers. The same number must give the same record: records are made again after a failure."""

    def open(self, reader_context: ReaderContext) -> None:
        """Run once per split before its first record."""

    @abstractmethod
    def map(self, value: int) -> T:
        """Return the record with this number."""

    def close(self) -> None:
        """Run once per split after its last record."""


class DataGeneratorSource(Source[T]):
    """Emits what a function makes of 0, 1, 2, ...; the subtasks take turns with the numbers.

    Args:
        generator_function: A function of the number, or a ``GeneratorFunction``. For random records, seed the random
            generator with the number.
        count: How many records there are; ``None``: the source never ends.
        rate_limiter_strategy: How fast it goes.

    Example:
        >>> source = DataGeneratorSource(lambda number: f"user-{number % 4}", 1000, RateLimiterStrategy.per_second(100))
    """

    def __init__(
        self,
        generator_function: GeneratorFunction[T] | Callable[[int], T],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
    ) -> None:
        if not callable(generator_function) and not isinstance(generator_function, GeneratorFunction):
            message = f"DataGeneratorSource() needs a function of a number, not {generator_function!r:.60}."
            raise ProgramError(message)
        if count is not None and count < 0:
            message = f"DataGeneratorSource(): the count must not be negative, but is {count}."
            raise ProgramError(message)
        strategy = rate_limiter_strategy or RateLimiterStrategy.no_op()
        require_instance(
            strategy,
            RateLimiterStrategy,
            "DataGeneratorSource() needs a RateLimiterStrategy, for example per_second(10).",
        )
        self._function = generator_function
        self._count = count
        self._strategy = strategy
        self.boundedness = Boundedness.CONTINUOUS_UNBOUNDED if count is None else Boundedness.BOUNDED

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return every n-th number for each of n subtasks."""
        return [
            SourceSplit(f"numbers {first} + n * {parallelism}", (first, parallelism)) for first in range(parallelism)
        ]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start generating with a number."""
        first, stride = split.detail
        start = first if position is None else position
        return _GeneratorReader(self._function, self._numbers(start, stride), self._limiter(first, stride), context)

    def _numbers(self, start: int, stride: int) -> range:
        return range(start, _NO_END if self._count is None else self._count, stride)

    def _limiter(self, first: int, stride: int) -> RateLimiter | None:
        return self._strategy.create_rate_limiter(first, stride)


_NO_END = 1 << 62


class _GeneratorReader(SplitReader[T]):
    def __init__(self, function: Any, numbers: range, limiter: RateLimiter | None, context: ReaderContext) -> None:
        self._numbers = numbers
        self._limiter = limiter
        self._elapsed = context.elapsed
        self._function = function if isinstance(function, GeneratorFunction) else None
        self._map: Callable[[int], T] = function if self._function is None else function.map
        if self._function is not None:
            self._function.open(context)

    def read(self, limit: int) -> tuple[list[T], list[int] | None] | None:
        if not self._numbers:
            return None
        if self._limiter is not None:
            now = self._elapsed()
            limit = min(limit, self._limiter.permits(now))
            self._limiter.take(min(limit, len(self._numbers)))
            self.wait_millis = self._limiter.wait_millis(now)
        numbers = self._numbers[:limit]
        self._numbers = self._numbers[limit:]
        return [self._map(number) for number in numbers], None

    def position(self) -> int:
        return self._numbers.start

    def committed(self, position: Any) -> None:
        if self._limiter is not None:
            self._limiter.checkpoint_complete()

    def close(self) -> None:
        if self._function is not None:
            self._function.close()
