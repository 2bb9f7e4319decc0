"""Functions that see all records, or the aggregate, of a window when it fires."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.vocabulary.functions.contexts import KeyedStateStore
    from penstock.vocabulary.functions.output_tag import Outputs, OutputTag

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]

X = TypeVar("X")
KEY = TypeVar("KEY")
IN = TypeVar("IN")
OUT = TypeVar("OUT")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turns the content of a keyed window into any number of records."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yield the results for one firing of the window."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turns the content of a window that is not keyed into any number of records."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yield the results for one firing of the window."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits what is in the window unchanged."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """Yield the inputs."""
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits what is in the window unchanged."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """Yield the inputs."""
        yield from inputs


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turns the content of a keyed window into any number of records and sees time and state."""

    class Context(ABC, Generic[W2]):
        """Tells about the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock's time."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event time that this subtask has reached."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this key and window; whoever uses it frees it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state of this key that all its windows share."""

        @abstractmethod
        def output(self, output_tag: OutputTag[X], value: X) -> None:
            """Send ``value`` to the side output of that tag."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Outputs[OUT]:
        """Yield the results for one firing of the window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Free state kept per window when the window is removed."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turns the content of a window that is not keyed into any number of records and sees state."""

    class Context(ABC, Generic[W2]):
        """Tells about the window that fires."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this window; whoever uses it frees it in ``clear``."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state that all windows share."""

        @abstractmethod
        def output(self, output_tag: OutputTag[X], value: X) -> None:
            """Send ``value`` to the side output of that tag."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Outputs[OUT]:
        """Yield the results for one firing of the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Free state kept per window when the window is removed."""
