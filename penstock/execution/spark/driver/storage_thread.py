"""Everything the driver does with checkpoint storage, in a thread of its own: storage may hang.

A file system that is frozen, or an object store behind a network that is cut, gives neither an answer nor an error.
What was begun there must be waited for: whether a checkpoint was published decides what the job restarts from. So it is
said what is waited for, and whoever waits can be told to wait no longer.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.foundation.clock import monotonic_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Pending", "StorageThread"]

_log = logging.getLogger("penstock.checkpoints")

T = TypeVar("T")

_FIRST_WORD_SECONDS = 10.0
"""After this time the log says for the first time that storage does not answer; then after twice as long, and so on."""


class Pending(Generic[T]):
    """Something the storage thread does, or will do."""

    def __init__(self, what: str, call: Callable[[], T]) -> None:
        self.what = what
        self._call = call
        self.is_done = threading.Event()
        self._result: T
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, and keep what comes of it."""
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self.is_done.set()

    def result(self) -> T:
        """Return what came of it, or raise that."""
        if self._error is not None:
            raise self._error
        return self._result


class StorageThread:
    """Does one thing after the other.

    It is a daemon: a program can end although storage does not answer.
    """

    def __init__(self, job_name: str, *, first_word_seconds: float = _FIRST_WORD_SECONDS) -> None:
        self._job_name = job_name
        self._first_word_seconds = first_word_seconds
        self._changed = threading.Condition()
        self._waiting: deque[Pending[Any]] = deque()
        self._current: tuple[Pending[Any], float] | None = None
        self._is_closed = False
        for call, name in ((self._work, "penstock checkpoint storage"), (self._tell, "penstock storage watch")):
            threading.Thread(target=call, name=name, daemon=True).start()

    def submit(self, what: str, call: Callable[[], T]) -> Pending[T]:
        """Have something done; ``what`` says in the log what it is: "storing the metadata of checkpoint 7"."""
        pending = Pending(what, call)
        with self._changed:
            self._waiting.append(pending)
            self._changed.notify_all()
        return pending

    def waiting_for(self) -> tuple[str, float] | None:
        """Return what storage has not answered yet, and for how many seconds."""
        with self._changed:
            return None if self._current is None else (self._current[0].what, monotonic_seconds() - self._current[1])

    def close(self, seconds: float | None) -> bool:
        """Do what is left and end; tell whether that was possible within some seconds."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._waiting and self._current is None, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                pending = self._waiting.popleft()
                self._current = (pending, monotonic_seconds())
                self._changed.notify_all()
            pending.run()
            with self._changed:
                self._current = None
                self._changed.notify_all()

    def _tell(self) -> None:
        """Say again and again what does not come to its end."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._current is not None or self._is_closed)
                if self._current is None:
                    return
                pending, begun = current = self._current
                patience = self._first_word_seconds
                while not self._changed.wait_for(
                    lambda: self._current is not current,  # noqa: B023 - used within this round only
                    max(0.0, begun + patience - monotonic_seconds()),
                ):
                    _log.warning(
                        "job %r: %s has taken %.0f s so far and is waited for: the storage does not answer",
                        self._job_name,
                        pending.what,
                        monotonic_seconds() - begun,
                    )
                    patience *= 2
