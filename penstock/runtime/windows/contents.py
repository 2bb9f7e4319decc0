"""What a window keeps between its first record and its end, in keyed state whose namespace is the window.

A window with a reduce or aggregate function keeps one accumulator, a window without keeps its elements, a window with
an evictor keeps its elements with their timestamps. An accumulator that is ``None`` counts as nothing kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.calls.functions import resolve_function
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.vocabulary.functions.basic import AggregateFunction, ReduceFunction
from penstock.vocabulary.program_checks import UnusableValueError, none_returned
from penstock.vocabulary.state.descriptors import ListStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.vocabulary.windows.evictors import TimestampedValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.statestore.backend import KeyedStateBackend

__all__ = [
    "ACCUMULATOR",
    "ELEMENTS",
    "Accumulation",
    "AccumulatorContents",
    "ElementContents",
    "TimestampedContents",
    "WindowContents",
    "accumulation_of",
    "adding_of",
]

_NAME = "window-contents"
ACCUMULATOR: ValueStateDescriptor[Any] = ValueStateDescriptor(_NAME)
ELEMENTS: ListStateDescriptor[Any] = ListStateDescriptor(_NAME)


class Accumulation:
    """How records become one accumulator, and an accumulator a result."""

    __slots__ = ("add", "create", "merge", "origin", "result")

    def __init__(
        self,
        *,
        add: Callable[[Any, Any], Any],
        merge: Callable[[Any, Any], Any],
        create: Callable[[], Any] | None = None,
        result: Callable[[Any], Any] | None = None,
        origin: Any = None,
    ) -> None:
        self.origin = origin
        """The function of the program that all of it comes from."""
        self.add = add
        """``reduce(accumulator, value)`` where there is no ``create``, else ``add(value, accumulator)``."""
        self.merge = merge
        self.create = create
        """Makes an empty accumulator; ``None`` where the first record is the accumulator."""
        self.result = result
        """Turns an accumulator into what is emitted; ``None`` where they are the same."""

    def accumulate(self, values: Iterable[Any]) -> list[Any]:
        """Return the one result of some values; nothing for no values, unless there is an empty accumulator."""
        if self.create is not None and self.result is not None:
            accumulator = self.create()
            value = NO_RECORD
            try:
                for value in values:
                    accumulator = self.add(value, accumulator)
                    if accumulator is None:
                        raise self.returned_none(value)
            except BaseException as error:
                note_record(error, value)
                raise
            return [self.result(accumulator)]
        remaining = iter(values)
        for accumulator in remaining:
            value = NO_RECORD
            try:
                for value in remaining:
                    accumulator = self.add(accumulator, value)
                    if accumulator is None:
                        raise self.returned_none(value)
            except BaseException as error:
                note_record(error, value)
                raise
            return [accumulator]
        return []

    def returned_none(self, record: Any) -> UnusableValueError:
        """Return the error for a function that has lost the accumulator; most forget to return what they changed."""
        return none_returned(self.origin, "reduce" if self.create is None else "add", record)


def accumulation_of(reducer: Any) -> Accumulation:
    """Resolve a callable, a ``ReduceFunction`` or an ``AggregateFunction``."""
    if isinstance(reducer, AggregateFunction):
        return Accumulation(
            add=reducer.add,
            merge=reducer.merge,
            create=reducer.create_accumulator,
            result=reducer.get_result,
            origin=reducer,
        )
    reduce = resolve_function(reducer, ReduceFunction, "reduce")
    return Accumulation(add=reduce, merge=reduce, origin=reducer)


def adding_of(accumulation: Accumulation | None) -> Callable[[dict[Any, Any], Any, Any], None]:
    """Return what adds a value to a key's contents, for operators that work on the dictionaries of heap state."""
    if accumulation is None:
        return _append
    add, create = accumulation.add, accumulation.create

    def reduce(entries: dict[Any, Any], key: Any, value: Any) -> None:
        known = entries.get(key)
        if known is None:
            entries[key] = value
            return
        entries[key] = result = add(known, value)
        if result is None:
            raise accumulation.returned_none(value)

    if create is None:
        return reduce

    def aggregate(entries: dict[Any, Any], key: Any, value: Any) -> None:
        known = entries.get(key)
        entries[key] = result = add(value, create() if known is None else known)
        if result is None:
            raise accumulation.returned_none(value)

    return aggregate


def _append(entries: dict[Any, Any], key: Any, value: Any) -> None:
    known = entries.get(key)
    if known is None:
        entries[key] = [value]
    else:
        known.append(value)


class WindowContents(ABC):
    """The contents of the windows of the current key."""

    def __init__(self, backend: KeyedStateBackend, descriptor: StateDescriptor) -> None:
        self._backend = backend
        self._state = backend.state(descriptor)
        self._select = self._state.set_namespace

    @abstractmethod
    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Put a record into a window."""

    @abstractmethod
    def get(self, window: Any) -> list[Any] | None:
        """Return what the window function gets to see, ``None`` if the window is empty."""

    @abstractmethod
    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Move the contents of some windows into another one."""

    def clear(self, window: Any) -> None:
        """Forget what a window holds."""
        self._select(window)
        self._state.clear()
        self._backend.drop_namespace(_NAME, window)


class AccumulatorContents(WindowContents):
    """One accumulator per window."""

    def __init__(self, backend: KeyedStateBackend, accumulation: Accumulation) -> None:
        super().__init__(backend, ACCUMULATOR)
        self._accumulation = accumulation
        self._read = self._state.value
        self._write = self._state.update

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Combine a record with the accumulator."""
        self._select(window)
        known = self._read()
        how = self._accumulation
        if how.create is not None:
            result = how.add(value, how.create() if known is None else known)
        elif known is None:
            self._write(value)
            return
        else:
            result = how.add(known, value)
        if result is None:
            raise how.returned_none(value)
        self._write(result)

    def get(self, window: Any) -> list[Any] | None:
        """Return the one result."""
        self._select(window)
        known = self._read()
        if known is None:
            return None
        result = self._accumulation.result
        return [known if result is None else result(known)]

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Merge accumulators."""
        merged = None
        for window in (target, *sources):
            self._select(window)
            known = self._read()
            if known is not None:
                if merged is None:
                    merged = known
                else:
                    merged = self._accumulation.merge(merged, known)
                    if merged is None:
                        raise none_returned(self._accumulation.origin, "merge")
            if window != target:
                self.clear(window)
        self._select(target)
        self._write(merged)


class ElementContents(WindowContents):
    """All elements of a window, in the order of their arrival."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        super().__init__(backend, ELEMENTS)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Append a record."""
        self._select(window)
        self._state.add(value)

    def get(self, window: Any) -> list[Any] | None:
        """Return the elements; the list belongs to the caller."""
        self._select(window)
        elements: list[Any] = list(self._state.get() or ())
        return elements or None

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Append the elements of other windows."""
        for window in sources:
            elements = self.get(window)
            if elements is not None:
                self.clear(window)
                self._select(target)
                self._state.add_all(elements)


class TimestampedContents(ElementContents):
    """All elements of a window with their timestamps: what evictors work on."""

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Append a record with its timestamp."""
        self._select(window)
        self._state.add(TimestampedValue(value, None if timestamp == MIN_TIMESTAMP else timestamp))

    def replace(self, window: Any, elements: list[TimestampedValue[Any]]) -> None:
        """Keep only these elements."""
        if elements:
            self._select(window)
            self._state.update(elements)
        else:
            self.clear(window)
