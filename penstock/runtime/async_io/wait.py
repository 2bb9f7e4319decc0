"""The operator of asynchronous requests.

Requests run in the event loop of a thread that the operator owns. Everything else happens in the task's own thread:
records are turned into requests there as long as there is capacity, and answers are emitted there. Records beyond the
capacity wait in the operator, and while some do, the task takes no more input: that is the back-pressure.

Records without an emitted answer are operator state. After a restore their requests are made again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import note_record, noting
from penstock.runtime.async_io.event_loop_thread import EventLoopThread
from penstock.runtime.async_io.queues import AnswerQueue, Marker, OrderedAnswers, Request, UnorderedAnswers
from penstock.runtime.interpreter_tricks.handover import protect_run
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import prepare_function
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.state.descriptors import ListStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.steps import AsyncWaitStep
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.vocabulary.functions.asynchronous import AsyncFunction

__all__ = ["AsyncWaitOperator"]

_IN_FLIGHT: ListStateDescriptor[tuple[Any, int | None]] = ListStateDescriptor("async-wait")


class AsyncWaitOperator(Operator):
    """Asks an asynchronous function about each record."""

    def __init__(self, step: AsyncWaitStep) -> None:
        self.step = step
        self.function: AsyncFunction[Any, Any] = step.function
        self._thread: EventLoopThread | None = None
        self._queue: AnswerQueue = OrderedAnswers() if step.is_ordered else UnorderedAnswers()
        self._beyond: deque[Request | Marker] = deque()
        self._answered: deque[Request] = deque()
        self._has_answers = threading.Event()

    @property
    def is_full(self) -> bool:
        """Tell whether records wait for capacity, so that no more should come."""
        return bool(self._beyond)

    @property
    def is_waiting(self) -> bool:
        """Tell whether answers are to come."""
        return self._queue.size > 0

    def open(self) -> None:
        """Open the function inside of the event loop, and ask again what a checkpoint has left unanswered."""
        self._wake_up = self.context.services.wake_up
        predicate = self.step.retry_strategy.get_retry_predicate()
        self._wants_other_result = predicate.result_predicate()
        self._excuses = predicate.exception_predicate()
        self._in_flight = self.context.operator_state.get_list_state(_IN_FLIGHT)
        self._thread = EventLoopThread(f"async {self.context.info.label}")
        self._thread.call(self.function.open, prepare_function(self.function, self.context))
        self._beyond.extend(Request(value, timestamp) for value, timestamp in self._in_flight.get())
        self._in_flight.clear()
        self._ask()

    def close(self) -> None:
        """Give up what is still unanswered and close the function inside of the event loop."""
        thread, self._thread = self._thread, None
        if thread is not None:
            try:
                thread.cancel()
                thread.call(self.function.close)
            finally:
                thread.stop()

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Ask about each record, as far as there is capacity."""
        if timestamps is None:
            self._beyond.extend(Request(value, None) for value in values)
        else:
            self._beyond.extend(map(Request, values, timestamps))
        self._ask()

    def process_watermark(self, timestamp: int) -> None:
        """Let a watermark wait for the records before it."""
        self._add_marker(Marker(lambda: self.output.emit_watermark(timestamp)))

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Let a change between idle and active wait for the records before it."""
        self._add_marker(Marker(lambda: self.output.emit_status(is_idle)))

    def end_input(self) -> None:
        """Wait for all answers."""
        while self._queue.size or self._beyond:
            self._has_answers.wait()
            self._take_answers()

    def snapshot(self, checkpoint_id: int) -> None:
        """Put the records without an emitted answer into the operator state."""
        unanswered = [*self._queue.requests(), *(waiting for waiting in self._beyond if isinstance(waiting, Request))]
        self._in_flight.update((request.value, request.timestamp) for request in unanswered)

    # -- in the task's thread

    def _add_marker(self, marker: Marker) -> None:
        if self._beyond:
            self._beyond.append(marker)
        else:
            self._queue.add_marker(marker)
            self._emit_ready()

    def _ask(self) -> None:
        """Turn waiting records into requests while there is capacity."""
        queue, beyond, capacity = self._queue, self._beyond, self.step.capacity
        asked = []
        while beyond and (queue.size < capacity or isinstance(beyond[0], Marker)):
            waiting = beyond.popleft()
            if isinstance(waiting, Marker):
                queue.add_marker(waiting)
            else:
                queue.add(waiting)
                asked.append(waiting)
        if asked and self._thread is not None:
            self._thread.start(self._answer, asked)

    def _take_answers(self) -> None:
        self._has_answers.clear()
        while self._answered:
            request = self._answered.popleft()
            if request.error is not None or request.is_timed_out:
                self._recover(request)
            self._queue.answer(request)
        self._emit_ready()
        self._ask()
        self._emit_ready()

    def _recover(self, request: Request) -> None:
        """Let the function answer for a request that took too long; raise what made another one fail."""
        value = request.value
        try:
            if request.error is not None:
                raise request.error
            request.results = _checked(self.function.timeout(value), self.function.timeout, value)
        except BaseException as error:
            note_record(error, value)
            raise
        if self.protects:
            protect_run(request.results)

    def _emit_ready(self) -> None:
        values: Values = []
        times: list[int | None] = []
        for ready in self._queue.take_ready():
            if isinstance(ready, Request):
                values.extend(ready.results)
                times.extend([ready.timestamp] * len(ready.results))
            else:
                self._emit(values, times)
                values, times = [], []
                ready.pass_on()
        self._emit(values, times)

    def _emit(self, values: Values, times: list[int | None]) -> None:
        """Emit records; those with and those without a timestamp do not share a run."""
        start = 0
        for end in range(1, len(values) + 1):
            if end == len(values) or (times[end] is None) is not (times[start] is None):
                stamped = [time for time in times[start:end] if time is not None]
                self.output.emit(values[start:end], stamped or None)
                start = end

    # -- in the event loop

    async def _answer(self, request: Request) -> None:
        timeout = self.step.timeout / 1000 if self.step.timeout else None
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                request.results = await self._attempt(request.value)
            if self.protects:
                protect_run(request.results)
        except asyncio.CancelledError:
            return  # the operator is being closed
        except TimeoutError as error:
            request.is_timed_out = limit.expired()
            request.error = None if request.is_timed_out else error
        except BaseException as error:
            request.error = error
        self._answered.append(request)
        if not self._has_answers.is_set():
            self._has_answers.set()
            self.context.processing_time.run_soon(noting(self, self._take_answers))
            self._wake_up()

    async def _attempt(self, value: Any) -> list[Any]:
        strategy, invoke = self.step.retry_strategy, self.function.async_invoke
        attempts = 1
        while True:
            answer = invoke(value)
            if not isawaitable(answer):
                problem = f"async_invoke() returned {shown(answer)}, which cannot be awaited. Write async def."
                raise UnusableValueError(problem, invoke, value)
            try:
                found = await answer
            except Exception as error:
                if self._excuses is None or not strategy.can_retry(attempts) or not self._excuses(error):
                    raise
            else:
                results = _checked(found, invoke, value)
                wants_other = self._wants_other_result
                if wants_other is None or not strategy.can_retry(attempts) or not wants_other(results):
                    return results
            await asyncio.sleep(strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1


def _checked(results: Any, method: Callable[..., Any], value: Any) -> list[Any]:
    if isinstance(results, (str, bytes, dict)) or not isinstance(results, Iterable):
        problem = (
            f"{method.__name__}() of an AsyncFunction returned {shown(results)}, but it returns a list of results; an"
            " empty one for none."
        )
        raise UnusableValueError(problem, method, value)
    return list(results)
