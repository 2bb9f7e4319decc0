"""Holds collected records on the driver until the program takes them."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import JobCancelledError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.vocabulary.job import CompletableFuture, JobExecutionResult

__all__ = ["Collector"]

_RUNS = 64
_POLL_SECONDS = 0.2


class Collector:
    """A bounded queue per collecting sink: a program that does not take records makes the job wait."""

    def __init__(self) -> None:
        self._queues: dict[str, queue.Queue[list[Any]]] = {}
        self._lock = threading.Lock()
        self._is_ended = threading.Event()
        self._is_stopped = threading.Event()

    def put(self, collection: str, values: list[Any]) -> None:
        """Add records; waits while the queue is full."""
        pending = self._queue(collection)
        while not self._is_stopped.is_set():
            try:
                pending.put(values, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return

    def end(self) -> None:
        """Say that nothing follows."""
        self._is_ended.set()

    def stop(self) -> None:
        """Let go of everybody who waits for room: nobody takes records any more."""
        self._is_stopped.set()

    def records(self, collection: str, result: CompletableFuture[JobExecutionResult]) -> Iterator[Any]:
        """Yield records as they come; at the end raise what made the job fail."""
        pending = self._queue(collection)
        while True:
            try:
                values = pending.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if self._is_ended.is_set() and pending.empty():
                    break
                continue
            yield from values
        try:
            result.result()
        except JobCancelledError:
            return

    def _queue(self, collection: str) -> queue.Queue[list[Any]]:
        with self._lock:
            return self._queues.setdefault(collection, queue.Queue(_RUNS))
