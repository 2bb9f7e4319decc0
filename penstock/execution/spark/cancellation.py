"""Stops a task in its own thread, also where that thread sits in a function of the program."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.runtime.loop import Inbox

__all__ = ["Cancellation", "TaskCancelledError"]

_SIGNAL = signal.SIGUSR1
_INTERVAL_SECONDS = 0.25


class TaskCancelledError(BaseException):
    """Ends a task because the driver said so; no ``except Exception`` of the program holds it up."""


class Cancellation:
    """Tells a task to stop: first through its inbox, then, if it does not look there, by interrupting its function.

    Interrupting means what it means in Flink: ``time.sleep``, a socket or a loop in a function of the program is left
    with an exception. It never hits a task that hands rows over to Spark, whose code would not expect it, nor one that
    is stopping already.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._is_requested = False
        self._is_stopping = threading.Event()
        self._is_sending = False

    def request(self) -> None:
        """Have the task stop; called from any thread."""
        if not self._is_requested:
            self._is_requested = True
            self._inbox.command(self._stop)
            threading.Thread(target=self._insist, name="penstock cancellation", daemon=True).start()

    def begin_stopping(self) -> None:
        """Say that the task is on its way out and must not be interrupted any more."""
        self._is_stopping.set()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let the calling thread, which must be the process's main one, be interrupted meanwhile."""
        is_possible = threading.current_thread() is threading.main_thread()
        previous = signal.signal(_SIGNAL, self._on_signal) if is_possible else None
        try:
            yield
        finally:
            self._is_stopping.set()
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
        if not self._is_stopping.is_set():
            self._is_stopping.set()
            raise TaskCancelledError

    def _on_signal(self, number: int, frame: Any) -> None:
        if not self._is_sending:
            self._stop()

    def _insist(self) -> None:
        while not self._is_stopping.wait(_INTERVAL_SECONDS):
            identity = threading.main_thread().ident
            if identity is not None:
                signal.pthread_kill(identity, _SIGNAL)
