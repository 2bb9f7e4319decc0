"""The surroundings that the engine gives a writer, for tests that drive writers themselves."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["Surroundings"]


class Surroundings:
    """A clock that the test moves, and the contexts of a sink's subtasks."""

    def __init__(self) -> None:
        self.time = 1_000
        self._timers: list[tuple[int, int, Callable[[int], None]]] = []

    def context(self, subtask: int = 0, parallelism: int = 1, **settings: Any) -> WriterContext:
        names = {"job_name": "test job", "operator_id": "sink", "attempt": 0, **settings}
        return WriterContext(
            subtask=subtask,
            parallelism=parallelism,
            now=lambda: self.time,
            schedule=lambda time, call: heapq.heappush(self._timers, (time, len(self._timers), call)),
            metrics=MetricGroup(lambda: self.time),
            **names,
        )

    def advance(self, millis: int) -> None:
        """Move the clock and call what is due."""
        self.time += millis
        while self._timers and self._timers[0][0] <= self.time:
            time, _, call = heapq.heappop(self._timers)
            call(time)
