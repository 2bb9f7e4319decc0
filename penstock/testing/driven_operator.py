"""One operator in a real subtask, driven by hand: records, watermarks, time and snapshots."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self, Unpack

from penstock.checkpoint.options import CheckpointOptions
from penstock.errors import ProgramError
from penstock.foundation.clock import ManualClock
from penstock.foundation.keys.groups import key_group_of, subtask_of_key_group
from penstock.graph.multi_input_steps import CoGroupStep, TwoInputStep
from penstock.graph.nodes import Node
from penstock.graph.steps import Step, WindowStep
from penstock.runtime.checkpoint.barriers import barrier
from penstock.runtime.checkpoint.subtask_snapshots import SubtaskSnapshots
from penstock.runtime.exchange.elements import END_OF_INPUT, MAX_TIMESTAMP, RECORDS, STATUS, WATERMARK, Element
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.chain import Chain
from penstock.runtime.task.context import OperatorContext, SubtaskInfo
from penstock.runtime.task.services import TaskServices
from penstock.runtime.task.subtask import Subtask
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.statestore.backend import KeyContext
from penstock.statestore.open_backend import open_backend
from penstock.statestore.snapshot_format import EVENT_TIME, PROCESSING_TIME
from penstock.testing.harness_output import Emitted, HarnessOutput, StatusChange
from penstock.testing.harness_snapshot import HarnessLink, HarnessSnapshot, restored_from
from penstock.testing.harness_state import content_of, entry_counts, operator_content, timers_of
from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.settings.execution import ExecutionConfig
from penstock.vocabulary.settings.modes import CheckpointKind
from penstock.vocabulary.time.durations import TimeLength, to_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.testing.harness_options import HarnessOptions
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.state.descriptors import StateDescriptor
    from penstock.vocabulary.time.generators import Watermark

__all__ = ["DrivenOperator"]

_MOST_SLICES = 1000
"""How often an operator that has not come to an end is asked to go on, for each thing that is pushed."""
_PATIENCE_SECONDS = 60
_MAX_PARALLELISM = 128


class DrivenOperator:
    """Holds an operator with its context, state, timers and clock; :class:`OperatorHarness` makes the operators.

    Attributes:
        operator: The operator itself.
        clock: The clock; ``advance`` moves it and runs what becomes due.
        outputs: What came out, as ``(value, timestamp)``.
        watermarks: The watermarks that went on to the next operator.
        statuses: The changes between idle (True) and active (False) that went on to the next operator.
        log: Records of all outputs, watermarks and changes of status, in the order in which they came out.
        printed: The lines that a ``print()`` step has printed.
        metrics: The metrics of the operator and its functions.
    """

    def __init__(
        self,
        operator: Operator,
        *,
        is_keyed: bool = True,
        name: str = "step",
        step: Step | None = None,
        **options: Unpack[HarnessOptions],
    ) -> None:
        given = options.get("restore")
        snapshots = [given] if isinstance(given, HarnessSnapshot) else list(given or ())
        self.operator = operator
        self.clock = options.get("clock") or ManualClock(snapshots[0].timestamp if snapshots else 0)
        self.metrics = MetricGroup(self.clock.elapsed)
        self.printed: list[str] = []
        self._woken = threading.Event()
        self._info = _subtask_info(name, snapshots, options)
        self._selectors = _selectors_of(step)
        self._keys = KeyContext()
        self._processing_time = ProcessingTimeService(self.clock)
        self._context = self._make_context(options, is_keyed=is_keyed)
        self._backend = self._context.state
        self._output = HarnessOutput()
        self.outputs = self._output.records
        self.watermarks = self._output.watermarks
        self.statuses = self._output.statuses
        self.log: list[Emitted | Watermark | StatusChange] = self._output.log
        self._next_checkpoint = 1 + max((snapshot.checkpoint_id for snapshot in snapshots), default=0)
        operator.setup(self._context, self._output)
        self._link = HarnessLink()
        inputs = 1 if type(operator).process_second is Operator.process_second else 2
        self._channels = [(input_, 0) for input_ in range(inputs)]
        self._subtask = self._make_subtask(step)
        restored = None
        if snapshots:
            shares = step is not None and step.shares_own_state
            restored = restored_from(snapshots, self._context.operator_id, self._info, shares_own_state=shares)
        self._subtask.open(restored)

    # -- what goes in

    def push(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record."""
        self._push(0, [value], None if timestamp is None else [timestamp])

    def push_run(self, records: Iterable[tuple[Any, int]]) -> None:
        """Give the operator several records with their timestamps in one run, as a job under load does."""
        self._push(0, *_columns(records))

    def push_second(self, value: Any, timestamp: int | None = None) -> None:
        """Give an operator with two inputs a record of the second one: of the broadcast side, of the right side."""
        self._push(1, [value], None if timestamp is None else [timestamp])

    def push_second_run(self, records: Iterable[tuple[Any, int]]) -> None:
        """Give an operator with two inputs several records of the second one in one run."""
        self._push(1, *_columns(records))

    def push_watermark(self, timestamp: int) -> None:
        """Advance event time, on both inputs if there are two."""
        for channel in self._channels:
            self._receive(channel, (WATERMARK, timestamp))

    def push_first_watermark(self, timestamp: int) -> None:
        """Advance event time on the first input only; the operator's own is that of the slower input."""
        self._receive(self._channels[0], (WATERMARK, timestamp))

    def push_second_watermark(self, timestamp: int) -> None:
        """Advance event time on the second input only."""
        self._receive(self._second(), (WATERMARK, timestamp))

    def push_status(self, *, is_idle: bool) -> None:
        """Tell the operator that its input became idle or active, both inputs if there are two."""
        for channel in self._channels:
            self._receive(channel, (STATUS, is_idle))

    def push_first_status(self, *, is_idle: bool) -> None:
        """Tell the operator that its first input became idle or active: an idle input does not hold up event time."""
        self._receive(self._channels[0], (STATUS, is_idle))

    def push_second_status(self, *, is_idle: bool) -> None:
        """Tell the operator that its second input became idle or active."""
        self._receive(self._second(), (STATUS, is_idle))

    def end(self) -> None:
        """End a bounded input: the last watermark comes, then nothing more."""
        self.push_watermark(MAX_TIMESTAMP)
        for channel in self._channels:
            self._receive(channel, END_OF_INPUT)

    # -- time

    def advance(self, time: TimeLength) -> None:
        """Move the clock forward; every timer on the way fires at its own time."""
        self.advance_to(self.clock.now() + to_millis(time))

    def advance_to(self, time: int) -> None:
        """Move the clock forward to a point in time."""
        while (due := self._processing_time.next_time()) is not None and due <= time:
            self.clock.set(max(due, self.clock.now()))
            self._processing_time.fire_due()
        self.clock.set(time)

    def settle(self, *, patience: float = _PATIENCE_SECONDS) -> None:
        """Wait, in real time, until an asynchronous operator has all answers, and take them.

        Raises:
            TimeoutError: They have not come within ``patience`` seconds.
        """
        self._wait_until(lambda: not self.operator.is_waiting, "the answers to all requests", patience)

    def wait_for_outputs(self, count: int, *, patience: float = _PATIENCE_SECONDS) -> None:
        """Wait, in real time, until an asynchronous operator has emitted so many records in all.

        Raises:
            TimeoutError: They have not come within ``patience`` seconds.
        """
        self._wait_until(lambda: len(self.outputs) >= count, f"{count} results", patience)

    # -- checkpoints

    def snapshot(self, checkpoint_id: int | None = None, *, is_savepoint: bool = False) -> HarnessSnapshot:
        """Take a snapshot, from which another harness can start; the operator goes on.

        Args:
            checkpoint_id: The number of the checkpoint; otherwise the next one.
            is_savepoint: Whether the snapshot has the form of a savepoint, which every state backend reads.

        Raises:
            CheckpointError: Something in the state cannot be stored.
        """
        number = self._next_checkpoint if checkpoint_id is None else checkpoint_id
        if number < self._next_checkpoint:
            message = f"Checkpoints count up: {number} cannot follow {self._next_checkpoint - 1}."
            raise ProgramError(message)
        self._next_checkpoint = number + 1
        kind = CheckpointKind.SAVEPOINT if is_savepoint else CheckpointKind.PERIODIC
        options = CheckpointOptions(kind=kind, timestamp=self.clock.now())
        if self._subtask.is_finished:
            self._subtask.trigger(number, options)
        else:
            for channel in self._channels:
                self._receive(channel, barrier(number, options))
        state = self._link.take(number, self._context.operator_id)
        info = self._info
        return HarnessSnapshot(number, self.clock.now(), info.index, info.parallelism, info.max_parallelism, state)

    def notify_complete(self, checkpoint_id: int) -> None:
        """Tell the operator and its functions that a checkpoint is complete."""
        self._subtask.on_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Tell the operator and its functions that a checkpoint was given up."""
        self._subtask.on_abort(checkpoint_id)

    def close(self) -> None:
        """Close the operator and its functions, and release its state."""
        self._subtask.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what comes out

    @property
    def values(self) -> list[Any]:
        """Return the values that came out, without their timestamps."""
        return [value for value, _ in self.outputs]

    def take_outputs(self) -> list[tuple[Any, int | None]]:
        """Return what came out since the last call, and forget it."""
        taken = self.outputs[:]
        self.outputs.clear()
        return taken

    def take_log(self) -> list[Emitted | Watermark | StatusChange]:
        """Return what came out of all outputs since the last call, watermarks included, and forget it."""
        taken = self.log[:]
        self.log.clear()
        return taken

    def side_output(self, tag: OutputTag[Any]) -> list[tuple[Any, int | None]]:
        """Return what came out of a side output, as ``(value, timestamp)``."""
        return self._output.sides.setdefault(tag.tag_id, [])

    # -- what is kept

    def event_timers(self) -> list[tuple[int, Any, Any]]:
        """Return the event-time timers as ``(timestamp, key, namespace)``, the next first."""
        return timers_of(self.operator, EVENT_TIME)

    def processing_timers(self) -> list[tuple[int, Any, Any]]:
        """Return the processing-time timers as ``(timestamp, key, namespace)``, the next first."""
        return timers_of(self.operator, PROCESSING_TIME)

    def state(self, descriptor: StateDescriptor, key: Any, namespace: Any = None) -> Any:
        """Return the content of a state for a key as plain data; ``namespace`` is the window of per-window state."""
        return content_of(self._context, descriptor, key, namespace)

    def state_keys(self, descriptor: StateDescriptor, namespace: Any = None) -> list[Any]:
        """Return the keys that have content in a state."""
        return self._context.keyed_state().keys(descriptor.get_name(), namespace)

    def state_entry_count(self, descriptor: StateDescriptor | None = None) -> int:
        """Return how many entries a state has, or all states together: one per key, and window of it, with content.

        An entry that has expired counts until it is cleaned up.
        """
        counts = entry_counts(self.operator)
        return counts.total() if descriptor is None else counts[descriptor.get_name()]

    def operator_state(self, descriptor: StateDescriptor) -> Any:
        """Return broadcast state as a dictionary, for a map descriptor, or the elements of a list of operator state."""
        return operator_content(self._context, descriptor)

    def owns(self, key: Any) -> bool:
        """Tell whether records of a key go to this subtask."""
        info = self._info
        group = key_group_of(key, info.max_parallelism)
        return subtask_of_key_group(group, info.parallelism, info.max_parallelism) == info.index

    # -- parts

    def _push(self, input_: int, values: Values, timestamps: Timestamps) -> None:
        if input_ == 1:
            self._second()
        selector = self._selectors[input_]
        if selector is not None and self._info.parallelism > 1:
            for value in values:
                if not self.owns(selector(value)):
                    message = f"The key of {value!r:.200} belongs to another subtask than {self._info.label}."
                    raise ProgramError(message)
        if values:
            self._receive(self._channels[input_], (RECORDS, values, timestamps))

    def _receive(self, channel: tuple[int, int], element: Element) -> None:
        self._subtask.receive(channel, [element])
        # What a call without end emits comes in part now, in part with what is pushed next.
        for _ in range(_MOST_SLICES):
            if not self._subtask.work_off():
                break

    def _second(self) -> tuple[int, int]:
        if len(self._channels) < 2:
            self.operator.process_second([], None)  # says so
        return self._channels[1]

    def _wait_until(self, is_done: Callable[[], bool], what: str, patience: float) -> None:
        self._processing_time.fire_due()
        while not is_done():
            if not self._woken.wait(patience):
                message = f"{what} did not come within {patience} seconds"
                raise TimeoutError(message)
            self._woken.clear()
            self._processing_time.fire_due()

    def _make_context(self, options: HarnessOptions, *, is_keyed: bool) -> OperatorContext:
        backend = None
        if is_keyed:
            backend = open_backend(
                options.get("state_backend"),
                self._keys,
                operator=self._info.name,
                max_parallelism=self._info.max_parallelism,
                now=self.clock.now,
            )
        return OperatorContext(
            info=self._info,
            operator_id=self._info.name,
            clock=self.clock,
            processing_time=self._processing_time,
            metrics=self.metrics,
            execution_config=options.get("execution_config") or ExecutionConfig(),
            keys=self._keys,
            state=backend,
            services=TaskServices(print_lines=self.printed.extend, wake_up=self._woken.set),
        )

    def _make_subtask(self, step: Step | None) -> Subtask:
        chain = Chain([(Node(1, self._info.name, step or Step()), self.operator)], [])
        subtask = Subtask(
            0,
            self._info,
            chain,
            [(*channel, channel[0]) for channel in self._channels],
            clock=self.clock,
            breathe=self._processing_time.fire_due,
        )
        snapshots = SubtaskSnapshots((0, self._info.index), chain, self._link)
        subtask.checkpoint_with(snapshots, self._processing_time)
        return subtask


def _subtask_info(name: str, snapshots: Sequence[HarnessSnapshot], options: HarnessOptions) -> SubtaskInfo:
    parallelism, index = options.get("parallelism", 1), options.get("subtask", 0)
    former = snapshots[0].max_parallelism if snapshots else _MAX_PARALLELISM
    max_parallelism = options.get("max_parallelism") or former
    if not 0 <= index < parallelism <= max_parallelism:
        message = (
            f"A harness cannot be subtask {index} of {parallelism} with a max parallelism of {max_parallelism}:"
            " subtasks count from 0, and there are at most as many as the max parallelism."
        )
        raise ProgramError(message)
    return SubtaskInfo(name, index, parallelism, max_parallelism)


def _selectors_of(step: Step | None) -> tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]:
    """Return how the keys of each input are found, where they are known and more than one."""
    match step:
        case None | WindowStep(is_keyed=False):
            return None, None
        case CoGroupStep(input_keys=selectors):
            return selectors
        case TwoInputStep(key=first, second_key=second):
            return first, second
        case _:
            return step.key, None


def _columns(records: Iterable[tuple[Any, int]]) -> tuple[Values, Timestamps]:
    run = list(records)
    return [value for value, _ in run], [timestamp for _, timestamp in run]
