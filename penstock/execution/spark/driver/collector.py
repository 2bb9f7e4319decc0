"""Holds collected records on the driver until the program takes them."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from penstock.errors import JobCancelledError
from penstock.runtime.exchange.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.vocabulary.job import CompletableFuture, JobExecutionResult

__all__ = ["Collector"]

_MOST_BLOCKS = 64


class Collector:
    """A bounded queue per collecting sink: a program that does not take records makes the job wait."""

    def __init__(self) -> None:
        self._blocks: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self._changed = threading.Condition()
        self._is_ended = False
        self._is_stopped = False

    def put(self, collection: str, block: bytes) -> None:
        """Add a block of records; waits while the queue is full."""
        with self._changed:
            pending = self._blocks[collection]
            self._changed.wait_for(lambda: self._is_stopped or len(pending) < _MOST_BLOCKS)
            if not self._is_stopped:
                pending.append(block)
                self._changed.notify_all()

    def end(self) -> None:
        """Say that nothing follows."""
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Let go of everybody who waits for room: nobody takes records any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def records(self, collection: str, result: CompletableFuture[JobExecutionResult]) -> Iterator[Any]:
        """Yield records as they come; at the end raise what made the job fail."""
        while (block := self._take(collection)) is not None:
            for _, values, _ in decode(block):
                yield from values
        try:
            result.result()
        except JobCancelledError:
            return

    def _take(self, collection: str) -> bytes | None:
        with self._changed:
            pending = self._blocks[collection]
            self._changed.wait_for(lambda: pending or self._is_ended)
            if not pending:
                return None
            self._changed.notify_all()
            return pending.popleft()
