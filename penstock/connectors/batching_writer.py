"""Writers that send many records at a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.sinks.protocol import SinkWriter

if TYPE_CHECKING:
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["BatchingWriter"]


class BatchingWriter(SinkWriter[Any]):
    """Keeps records until there are enough, enough time has passed or a checkpoint is taken, then sends them.

    Args:
        context: The subtask.
        batch_size: How many are enough.
        batch_interval: After how many milliseconds they are sent in any case; 0: at the latest with a checkpoint.
    """

    def __init__(self, context: WriterContext, batch_size: int, batch_interval: int) -> None:
        self._context = context
        self._batch_size = batch_size
        self._batch_interval = batch_interval
        self._items: list[Any] = []
        self._is_scheduled = False

    @abstractmethod
    def send(self, *, must_end: bool) -> None:
        """Send the kept items and forget those that are sent; all of them if ``must_end``."""

    @abstractmethod
    def _prepared(self, elements: list[Any]) -> list[Any]:
        """Return what is kept of records."""

    def write(self, element: Any, timestamp: int | None) -> None:
        """Keep a record, or send it with those before it."""
        self.write_run([element], None)

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Keep records; send them once there are enough."""
        self._items += self._prepared(elements)
        if len(self._items) >= self._batch_size:
            self.send(must_end=False)
        elif self._batch_interval and not self._is_scheduled:
            self._is_scheduled = True
            self._context.schedule(self._context.now() + self._batch_interval, self._on_time)

    def flush(self, *, end_of_input: bool) -> None:
        """Send everything."""
        self.send(must_end=True)

    def _on_time(self, time: int) -> None:
        self._is_scheduled = False
        self.send(must_end=False)
