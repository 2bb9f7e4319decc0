"""The one protocol that everything running in a subtask follows.

An operator takes runs of records and watermarks, does its work and emits into its
:class:`~penstock.runtime.task.output.Output`. It owns its state, its timers and its view of time. All calls come
from one thread, one after the other.

Life cycle: ``setup`` (wiring) - ``restore`` (only after a failure or from a savepoint) - ``open`` - any number of
``process``, ``process_watermark``, timers and ``snapshot`` - ``end_input`` once all input is there - ``close``, which
is also called after a failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import note_operator

if TYPE_CHECKING:
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.exchange.key_selection import KeyFunction
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output
    from penstock.runtime.time.timers import InternalTimers
    from penstock.statestore.snapshot_format import Timer

__all__ = ["Operator"]


class Operator:
    """A step that runs. Subclasses override what they need; by default everything but records is passed on."""

    context: OperatorContext
    output: Output
    key_functions: tuple[KeyFunction, ...] = ()
    """What finds the keys of records, with the key selectors of the program in them."""

    function: Any = None
    """The function of the program that the operator calls, if it has one; it is told about checkpoints as well."""
    timers: InternalTimers | None = None
    """The timers of the operator's keys, ``None`` where it has none."""
    protects: bool
    """Whether what the program might still change is copied when it is emitted: unless objects are reused."""

    @property
    def named_part(self) -> Any:
        """Return the part of the program that messages name: the function, or for example the source."""
        return self.function

    @property
    def failure_outside(self) -> BaseException | None:
        """Return what was raised in a thread of the operator's own, before the task has raised it."""
        return None

    def note_failure(self, error: BaseException) -> None:
        """Note on an error that it was raised by the work of this operator, not further behind."""
        note_operator(error, self)

    def setup(self, context: OperatorContext, output: Output) -> None:
        """Give the operator its surroundings; nothing runs yet."""
        self.context = context
        self.output = output
        self.protects = not context.execution_config.is_object_reuse_enabled()

    @property
    def is_full(self) -> bool:
        """Tell whether the task should take no more input for now."""
        return False

    @property
    def is_waiting(self) -> bool:
        """Tell whether something outside will make the operator emit, without any input."""
        return False

    @property
    def is_unfinished(self) -> bool:
        """Tell whether something was begun, and left so that the task gets its turn: ``work_off`` goes on with it."""
        return False

    @property
    def may_be_left(self) -> bool:
        """Tell whether a snapshot may be taken now; not in the middle of something that a snapshot cannot hold."""
        return not self.is_unfinished

    def work_off(self) -> None:
        """Go on, for a moment, with what is unfinished."""

    @property
    def may_end(self) -> bool:
        """Tell whether nothing is left to do once all input is processed and the last checkpoint is complete."""
        return True

    def open(self) -> None:
        """Prepare for records: resolve functions, get state, register timers."""

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Take a run of records of the first input. The lists belong to the operator from now on."""
        self.output.emit(values, timestamps)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Take a run of records of the second input."""
        message = f"{type(self).__name__} has one input"
        raise TypeError(message)

    def process_watermark(self, timestamp: int) -> None:
        """Advance event time; what this causes is emitted before the watermark goes on."""
        self.output.emit_watermark(timestamp)

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Pass on that the input became idle or active."""
        self.output.emit_status(is_idle)

    def end_key(self) -> None:
        """Fire all timers: in batch, all records of the current key have come; its state is dropped afterwards."""
        if self.timers is not None:
            self.timers.end_event_time()
            self.timers.end_processing_time()
            self.timers.begin_key()

    def end_input(self) -> None:
        """Emit what is still held back: no more records come."""

    def quiesce(self) -> None:
        """Drop the timers of processing time: there is nobody any more who would take what they emit."""
        if self.timers is not None:
            self.timers.drop_processing_timers()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Emit or write out what must be in front of the barrier; called before the chain is snapshot."""

    def snapshot(self, checkpoint_id: int) -> Any:
        """Return the operator's own state beside its keyed state, ``None`` if it has none."""
        return None

    def restore(self, snapshots: list[Any]) -> None:
        """Take back, before ``open``, what ``snapshot`` returned; several where the parallelism has changed."""

    def snapshot_timers(self) -> list[Timer]:
        """Return the timers that wait; they are stored with the keyed state, by key group."""
        return [] if self.timers is None else self.timers.snapshot()

    def restore_timers(self, timers: list[Timer]) -> None:
        """Take back timers, once the operator is open."""
        if self.timers is not None:
            self.timers.restore(timers)

    def notify_complete(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint is complete: what it holds will never be asked for again."""

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint was given up."""

    def close(self) -> None:
        """Release what ``open`` took; called once, also after a failure."""
