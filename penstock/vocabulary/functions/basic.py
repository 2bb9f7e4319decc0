"""The one-record functions of a program: map, filter, reduce, aggregate, key, join.

A function object is made by the user, pickled into the job and copied into every parallel subtask.
There ``open`` runs once before the first record and ``close`` once after the last one.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.vocabulary.functions.contexts import RuntimeContext

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "Collector",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionWrapper",
    "JoinFunction",
    "KeySelector",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
    "ReduceFunctionWrapper",
]

T = TypeVar("T")
IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
OUT_contra = TypeVar("OUT_contra", contravariant=True)
IN_contra = TypeVar("IN_contra", contravariant=True)  # a function of more will do
OUT_co = TypeVar("OUT_co", covariant=True)
ACC = TypeVar("ACC")
KEY = TypeVar("KEY")


class Collector(Protocol[OUT_contra]):
    """Takes the results of a function that emits by call instead of by ``yield``."""

    def collect(self, record: OUT_contra) -> None:
        """Emit one record."""


class Function(ABC):  # noqa: B024 - abstract by purpose: each kind of function adds its own element method
    """Is the root of all user functions and gives them their life cycle."""

    # A class attribute, because user classes seldom call super().__init__().
    _runtime_context: RuntimeContext | None = None

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - a life cycle method is optional
        """Run once per subtask before the first record: the place to open connections and get state handles."""

    def close(self) -> None:  # noqa: B027 - a life cycle method is optional
        """Run once per subtask after the last record, also after a failure: the place to release what open took."""

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Give the function its context; the runtime calls this before ``open``."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context of the subtask this function runs in."""
        if self._runtime_context is None:
            msg = (
                f"The runtime context has not been initialized. {type(self).__name__} asked for it before it was "
                "opened, for example in its constructor or in a class attribute; use it in open() or later."
            )
            raise ProgramError(msg)
        return self._runtime_context

    def __getstate__(self) -> dict[str, Any]:
        """Leave the runtime context out of pickles: it belongs to the subtask, not to the program."""
        state = self.__dict__.copy()
        state.pop("_runtime_context", None)
        return state


class MapFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each record into exactly one record."""

    @abstractmethod
    def map(self, value: IN_contra) -> OUT_co:
        """Return the record that takes the place of ``value``."""


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Maps the records of two connected streams into one stream."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT:
        """Return the record that takes the place of a record of the first stream."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT:
        """Return the record that takes the place of a record of the second stream."""


class FlatMapFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each record into any number of records."""

    @abstractmethod
    def flat_map(self, value: IN_contra) -> Iterable[OUT_co] | None:
        """Yield the records that take the place of ``value``; None means none."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Flat-maps the records of two connected streams into one stream."""

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Yield the records that take the place of a record of the first stream."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Yield the records that take the place of a record of the second stream."""


class FilterFunction(Function, Generic[IN_contra]):
    """Decides for each record whether it stays in the stream."""

    @abstractmethod
    def filter(self, value: IN_contra) -> bool:
        """Return True for a record that stays."""


class ReduceFunction(Function, Generic[T]):
    """Combines two values of a type into one of the same type."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of the value so far and the new value."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Aggregates values in an accumulator whose type may differ from input and result."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return a fresh, empty accumulator."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with ``value`` added."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the result that the accumulator stands for."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator for two; only merging (session) windows need it."""


class KeySelector(Function, Generic[IN, KEY]):
    """Extracts the key of a record; it must give the same key for the same record every time."""

    @abstractmethod
    def get_key(self, value: IN) -> KEY:
        """Return the key of ``value``."""


class NullByteKeySelector(KeySelector[Any, int]):
    """Gives every record the same key, 0, so that a keyed operator sees the whole stream."""

    def get_key(self, value: Any) -> int:
        """Return 0."""
        return 0


class Partitioner(Function, Generic[KEY]):
    """Chooses the target subtask of a record by its key."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Return the index of the target, from 0 to ``num_partitions - 1``."""


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Combines a pair of joined records into exactly one record."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the record for the pair."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Combines a pair of joined records into any number of records.

    ``join`` either yields its results or, written with a third parameter ``out``, hands them to ``out.collect``.
    """

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Yield the records for the pair; None means none."""

    def join_pair(self, first: IN1, second: IN2) -> Iterable[OUT]:
        """Return the results of ``join`` in either of its two forms."""
        join: Callable[..., Iterable[OUT] | None] = self.join
        if not _takes_collector(type(self)):
            return join(first, second) or ()
        collected: _Collected[OUT] = _Collected()
        join(first, second, collected)
        return collected.records


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Combines all records of two streams that have the same key and window; either side may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[IN1], second: Iterable[IN2]) -> Iterable[OUT] | None:
        """Yield the records for the two groups; None means none."""


class FunctionWrapper(Function):
    """Carries a callable where a function object is needed; a life cycle that the callable has is passed on."""

    def __init__(self, func: Any) -> None:
        if not callable(func):
            msg = f"{type(self).__name__} needs something that can be called, not {func!r}."
            raise TypeError(msg)
        self._func = func

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Give the context to the wrapped function too."""
        super().set_runtime_context(runtime_context)
        if isinstance(self._func, Function):
            self._func.set_runtime_context(runtime_context)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the wrapped function."""
        if isinstance(self._func, Function):
            self._func.open(runtime_context)

    def close(self) -> None:
        """Close the wrapped function."""
        if isinstance(self._func, Function):
            self._func.close()


class ReduceFunctionWrapper(FunctionWrapper, ReduceFunction[Any]):
    """Makes a ReduceFunction of a callable with two parameters."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return what the wrapped callable returns."""
        return self._func(value1, value2)


class _Collected(Generic[OUT]):
    """Keeps what a function emits by call until the call is over."""

    def __init__(self) -> None:
        self.records: list[OUT] = []

    def collect(self, record: OUT) -> None:
        self.records.append(record)


_COLLECTOR_FORMS: dict[type, bool] = {}


def _takes_collector(function_class: type[FlatJoinFunction[Any, Any, Any]]) -> bool:
    # Looked up once per class: inspect.signature per record pair would dominate the join.
    answer = _COLLECTOR_FORMS.get(function_class)
    if answer is None:
        answer = len(inspect.signature(function_class.join).parameters) > len(("self", "first", "second"))
        _COLLECTOR_FORMS[function_class] = answer
    return answer
