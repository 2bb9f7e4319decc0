"""The driver's heartbeats: tells its tasks that it runs, and finds those that are not heard of any more."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from penstock.execution.spark.control.heartbeats import Heartbeats
from penstock.execution.spark.control.messages import Heartbeat, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.execution.spark.control.heartbeats import HeartbeatSettings
    from penstock.execution.spark.control.server import ControlServer
    from penstock.foundation.clock import Clock

__all__ = ["TaskWatch"]


class TaskWatch:
    """Watches the tasks of one attempt from a thread of its own.

    Args:
        settings: How often, and how long.
        clock: What durations are measured by.
        on_silent: Is told of a task that is taken for dead.
        on_paused: Is told for how many milliseconds this process itself did not run, where its tasks have given it up.
    """

    def __init__(
        self,
        settings: HeartbeatSettings,
        clock: Clock,
        *,
        on_silent: Callable[[Register], None],
        on_paused: Callable[[int], None],
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._on_silent = on_silent
        self._on_paused = on_paused
        self._lock = threading.Lock()
        self._tasks: Heartbeats[Register] = Heartbeats(settings, clock.elapsed())
        self._pause = 0
        self._ended = threading.Event()

    def start(self, server: ControlServer) -> None:
        """Start to speak and to listen."""
        threading.Thread(target=self._speak, args=(server,), name="penstock heartbeat", daemon=True).start()
        threading.Thread(target=self._watch, name="penstock task watch", daemon=True).start()

    def heard(self, task: Register) -> None:
        """Take note that a task has said something."""
        with self._lock:
            self._tasks.heard(task, self._clock.elapsed())

    def forget(self, task: Register) -> None:
        """Expect nothing of a task any more."""
        with self._lock:
            self._tasks.forget(task)

    def is_overdue(self) -> bool:
        """Tell whether this process has not run for so long that its tasks have given it up."""
        return self.paused_for() > 0

    def paused_for(self) -> int:
        """Return for how many milliseconds this process did not run, where its tasks have given it up; else 0."""
        with self._lock:
            if not self._pause and not self._ended.is_set():
                self._pause = self._tasks.overdue(self._clock.elapsed())
            return self._pause

    def close(self) -> None:
        """Speak and listen no more."""
        self._ended.set()

    def _speak(self, server: ControlServer) -> None:
        while not self._ended.wait(self.settings.interval / 1000):
            server.send_all(Heartbeat())

    def _watch(self) -> None:
        while not self._ended.wait(self.settings.look_millis / 1000):
            with self._lock:
                verdict = self._tasks.look(self._clock.elapsed())
                self._pause = self._pause or verdict.pause
            if verdict.pause:
                self._on_paused(verdict.pause)
                return
            for task in verdict.silent:
                self._on_silent(task)
