"""Stops a task in its own thread, also where that thread sits in a function of the program."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.foundation.clock import monotonic_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.runtime.task.loop import Inbox

__all__ = ["Cancellation", "TaskCancelledError"]

_SIGNAL = signal.SIGUSR1
_FIRST_SECONDS = 0.25
"""How long a task may take to look into its inbox before its function is interrupted for the first time."""
_SHOWN_FRAMES = 8


class TaskCancelledError(BaseException):
    """Ends a task because the driver said so; no ``except Exception`` of the program holds it up."""


class Cancellation:
    """Tells a task to stop: first through its inbox, then, if it does not look there, by interrupting its function.

    Interrupting means what it means in Flink: ``time.sleep``, a socket or a loop in a function of the program is left
    with an exception, again and again if the function goes on. It never hits a task that hands rows over to Spark,
    whose code would not expect it, nor one that is closing its functions. A task that has not ended after the timeout
    is ended with its process.

    Args:
        inbox: What the task's loop listens to.
        on_stuck: Is told where the task sits before its process ends.
        end_process: Ends the process.
        first_seconds: How long the task may take before it is interrupted for the first time.
    """

    def __init__(
        self,
        inbox: Inbox,
        on_stuck: Callable[[str], None],
        *,
        end_process: Callable[[int], Any] = os._exit,
        first_seconds: float = _FIRST_SECONDS,
    ) -> None:
        self._inbox = inbox
        self._on_stuck = on_stuck
        self._end_process = end_process
        self._first_seconds = first_seconds
        self._is_requested = False
        self._is_stopping = False
        self._is_sending = False
        self._is_interruptible = False
        self._has_raised = False
        self._has_ended = threading.Event()

    def request(self, interval: int, timeout: int) -> None:
        """Have the task stop; called from any thread.

        Args:
            interval: The milliseconds between two interrupts.
            timeout: The milliseconds after which the process is ended; 0 is never.
        """
        if not self._is_requested:
            self._is_requested = True
            self._inbox.command(self._stop)
            limits = (max(interval / 1000, self._first_seconds), timeout / 1000)
            threading.Thread(target=self._insist, args=limits, name="penstock cancellation", daemon=True).start()

    def begin_stopping(self) -> None:
        """Say that the task is on its way out and must not be interrupted any more."""
        self._is_stopping = True

    def end(self) -> None:
        """Say that all functions are closed: the task has stopped in time, whatever it still waits for."""
        self._is_stopping = True
        self._has_ended.set()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let the calling thread, which must be the process's main one, be interrupted meanwhile."""
        is_possible = threading.current_thread() is threading.main_thread()
        previous = signal.signal(_SIGNAL, self._on_signal) if is_possible else None
        self._is_interruptible = is_possible
        try:
            yield
        finally:
            self._is_interruptible = False
            self._has_ended.set()
            if is_possible:
                signal.signal(_SIGNAL, previous)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Hold interrupts off while rows are handed over."""
        self._is_sending = True
        try:
            yield
        finally:
            self._is_sending = False

    def _stop(self) -> None:
        if not self._is_stopping:
            self._has_raised = True
            raise TaskCancelledError

    def _on_signal(self, number: int, frame: Any) -> None:
        if not self._is_sending:
            self._stop()

    def where_it_sits(self) -> str:
        """Return where the task's thread sits, empty while it hands rows over: then it waits for those behind it."""
        return "" if self._is_sending else _where_the_task_sits()

    def _insist(self, interval: float, timeout: float) -> None:
        deadline = monotonic_seconds() + timeout if timeout else None
        pause = self._first_seconds
        while True:
            left = pause if deadline is None else min(pause, max(0.0, deadline - monotonic_seconds()))
            if self._has_ended.wait(left):
                return
            if deadline is not None and monotonic_seconds() >= deadline:
                self._on_stuck(_where_the_task_sits())
                self._end_process(1)
                return
            identity = threading.main_thread().ident
            if self._is_interruptible and not self._is_stopping and identity is not None:
                signal.pthread_kill(identity, _SIGNAL)
            # One that came while rows were handed over was for nothing: the next one follows soon.
            pause = interval if self._has_raised else self._first_seconds


def _where_the_task_sits() -> str:
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return "" if frame is None else "".join(traceback.format_stack(frame)[-_SHOWN_FRAMES:])
