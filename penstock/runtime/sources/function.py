"""The operator that runs a ``SourceFunction``.

``run(ctx)`` has a thread of its own, because it may block. It only fills a buffer; the task's loop takes what is there,
so that operators, state and timers stay in one thread. A full buffer makes the function wait: that is back-pressure.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from penstock.runtime.exchange.elements import MIN_TIMESTAMP, RECORDS, STATUS, WATERMARK, Element, Timestamps
from penstock.runtime.sources.splits import Poll, SourceOperator
from penstock.runtime.task.context import open_function
from penstock.runtime.task.pacing import Pacer
from penstock.statestore.copying import copied
from penstock.vocabulary.sources.functions import SourceContext, SourceFunction
from penstock.vocabulary.time.time_values import whole_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.vocabulary.time.generators import Watermark

__all__ = ["SourceFunctionOperator"]

_JOIN_SECONDS = 2.0


class _Stopped(BaseException):
    """Unwinds a source function that does not look at its flag while it waits for room in the buffer."""


class _BufferedContext(SourceContext[Any]):
    """What ``run`` emits into; emitting and updating a position under the checkpoint lock is one step.

    A function that emits under the lock waits for room when it gives the lock back, because waiting inside would let
    the task in between a record and its position.
    """

    def __init__(self, wake_up: Callable[[], None], pacer: Pacer, *, protects: bool = True) -> None:
        self._pacer = pacer
        self._protects = protects
        self._lock = threading.RLock()
        self._has_room = threading.Condition(self._lock)
        self._checkpoint_lock = _CheckpointLock(self._lock, self._wait_for_room)
        self._wake_up = wake_up
        self._elements: list[Element] = []
        self._buffered = 0
        self._run: list[Any] | None = None
        self._times: Timestamps = None
        self.is_idle = False
        self.is_stopped = False

    def collect(self, element: Any) -> None:
        with self._lock:
            if self._run is None or self._times is not None:
                self._start_run(has_timestamps=False)
            self._run.append(copied(element) if self._protects else element)  # type: ignore[union-attr]
            self._count()

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "collect_with_timestamp() was given", None, element)
        with self._lock:
            if self._run is None or self._times is None:
                self._start_run(has_timestamps=True)
            self._run.append(copied(element) if self._protects else element)  # type: ignore[union-attr]
            self._times.append(timestamp)  # type: ignore[union-attr]
            self._count()

    def emit_watermark(self, mark: Watermark | int) -> None:
        time = whole_millis(getattr(mark, "timestamp", mark), "emit_watermark() was given")
        with self._lock:
            self._mark_active()
            self._control((WATERMARK, time))

    def mark_as_temporarily_idle(self) -> None:
        with self._lock:
            if not self.is_idle:
                self.is_idle = True
                self._control((STATUS, True))

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        return self._checkpoint_lock

    def take(self) -> tuple[list[Element], int]:
        """Return everything emitted so far and how many records that are, and make room."""
        with self._lock:
            elements, self._elements = self._elements, []
            records, self._buffered = self._buffered, 0
            self._run = self._times = None
            self._has_room.notify_all()
        return elements, records

    def stop(self) -> None:
        """Let a waiting function go."""
        with self._lock:
            self.is_stopped = True
            self._has_room.notify_all()

    def _start_run(self, *, has_timestamps: bool) -> None:
        self._mark_active()
        self._run = []
        self._times = [] if has_timestamps else None
        self._elements.append((RECORDS, self._run, self._times))

    def _mark_active(self) -> None:
        if self.is_idle:
            self.is_idle = False
            self._elements.append((STATUS, False))

    def _control(self, element: Element) -> None:
        self._elements.append(element)
        self._run = self._times = None
        self._wake_up()

    def _count(self) -> None:
        self._buffered += 1
        if self._buffered == 1:
            self._wake_up()
        elif self._buffered >= self._pacer.limit and self._checkpoint_lock.depth == 0:
            self._wait_for_room()

    def _wait_for_room(self) -> None:
        if self._buffered >= self._pacer.limit:
            self._has_room.wait_for(lambda: self._buffered < self._pacer.limit or self.is_stopped)
            if self.is_stopped:
                raise _Stopped


class _CheckpointLock(AbstractContextManager[None]):
    """The lock of a buffer; whoever gives it back for the last time waits until there is room again."""

    def __init__(self, lock: threading.RLock, wait_for_room: Callable[[], None]) -> None:
        self._lock = lock
        self._wait_for_room = wait_for_room
        self.depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        self.depth -= 1
        try:
            if self.depth == 0 and kind is None:
                self._wait_for_room()
        finally:
            self._lock.release()


class SourceFunctionOperator(SourceOperator):
    """Drives a ``SourceFunction`` and emits what it collects."""

    has_thread = True

    def __init__(self, function: SourceFunction[Any]) -> None:
        self.function = function
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._is_done = False
        self._is_cancelled = False
        self._was_done = False
        """Whether the function had come to its end when the restored checkpoint was taken: it does not run again."""
        self._watermark = MIN_TIMESTAMP
        self._is_idle = False

    def open(self) -> None:
        """Open the function; its thread starts with the first ``poll``, when the whole chain is open."""
        self._wake_up = self.context.services.wake_up
        self._pacer = Pacer(self.context.clock)
        self._buffer = _BufferedContext(self._wake_up, self._pacer, protects=self.protects)
        open_function(self.function, self.context)
        if self._watermark > MIN_TIMESTAMP:
            self.output.emit_watermark(self._watermark)
        if self._is_idle:
            self._buffer.is_idle = True
            self.output.emit_status(self._is_idle)

    @property
    def failure_outside(self) -> BaseException | None:
        """Return what the function has raised in its thread."""
        return self._error

    def _run(self) -> None:
        try:
            self.function.run(self._buffer)
        except _Stopped:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self._is_done = True
            self._wake_up()

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """Return how far the function has brought event time, and whether it has come to its end."""
        return {
            "subtask": self.context.info.index,
            "watermark": self._watermark,
            "is_idle": self._is_idle,
            "is_done": self._was_done or (self._is_done and not self._is_cancelled and self._error is None),
        }

    def restore(self, snapshots: list[dict[str, Any]]) -> None:
        """Go on where event time was; with another parallelism, with the least that any subtask had reached."""
        is_rescaled = len(snapshots) != self.context.info.parallelism
        mine = [each for each in snapshots if is_rescaled or each["subtask"] == self.context.info.index]
        self._watermark = min(each["watermark"] for each in mine)
        self._is_idle = all(each["is_idle"] for each in mine)
        self._was_done = all(each.get("is_done", False) for each in mine)

    def poll(self) -> Poll:
        """Emit what the function has collected since the last time."""
        if self._was_done:
            return Poll.FINISHED
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"source {self.context.info.label}", daemon=True)
            self._thread.start()
        is_done = self._is_done
        if self._emit_collected():
            return Poll.EMITTED
        if is_done and self._error is not None:
            raise self._error
        return Poll.FINISHED if is_done else Poll.NOTHING

    def _emit_collected(self) -> bool:
        """Emit what the function has collected; say whether that was anything."""
        elements, records = self._buffer.take()
        self._pacer.begin()
        for element in elements:
            if element[0] == RECORDS:
                self.output.emit(element[1], element[2])
            elif element[0] == WATERMARK:
                self._watermark = max(self._watermark, element[1])
                self.output.emit_watermark(element[1])
            else:
                self._is_idle = element[1]
                self.output.emit_status(element[1])
        if records:
            self._pacer.end(records)
        return bool(elements)

    @contextmanager
    def held_for_snapshot(self) -> Iterator[None]:
        """Emit what was collected and hold the function's lock: its state then says exactly what was emitted."""
        with self._buffer.get_checkpoint_lock():
            self._emit_collected()
            yield

    def finish(self) -> None:
        """Say that event time is over, also for those who think this source idle."""
        if self._buffer.is_idle:
            self.output.emit_status(False)  # noqa: FBT003 - the element has exactly this one field
        super().finish()

    def cancel(self) -> None:
        """Ask the function to return."""
        self._is_cancelled = True
        self.function.cancel()
        self._buffer.stop()

    def close(self) -> None:
        """Make sure that the function has stopped, and close it."""
        if self._thread is not None and self._thread.is_alive():
            self.cancel()
            self._thread.join(_JOIN_SECONDS)
        self.function.close()
