"""Sinks written as a function that is called per record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeAlias, TypeVar

from penstock.vocabulary.functions.basic import Function

__all__ = ["RichSinkFunction", "SinkContext", "SinkFunction"]

T = TypeVar("T")


class SinkContext(ABC):
    """Tells about the record that is written."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the clock's time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Return the event time of the record, None if it has none."""


class SinkFunction(Function, Generic[T]):
    """Writes records out, one call per record; what it wrote before a failure may be written again."""

    Context: TypeAlias = SinkContext

    @abstractmethod
    def invoke(self, value: T, context: SinkContext) -> None:
        """Write one record."""


class RichSinkFunction(SinkFunction[T]):
    """Is a SinkFunction under Java's name for functions with a life cycle."""
