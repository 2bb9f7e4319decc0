"""A bench for one operator or function: push records, watermarks and time; look at what comes out and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import ProgramError
from penstock.graph import steps
from penstock.runtime.build import build_operator
from penstock.runtime.clock import ManualClock
from penstock.runtime.context import OperatorContext, SubtaskInfo
from penstock.runtime.elements import MAX_TIMESTAMP, Timestamps, Values
from penstock.runtime.output import Emit, Output
from penstock.runtime.processing_time import ProcessingTimeService
from penstock.runtime.timers import InternalTimers
from penstock.runtime.window_operator import WindowOperator
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap import HeapStateBackend
from penstock.vocabulary.durations import TimeLength, to_millis
from penstock.vocabulary.execution_config import ExecutionConfig
from penstock.vocabulary.functions import FilterFunction, FlatMapFunction, KeySelector, MapFunction, ReduceFunction
from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.process_functions import KeyedProcessFunction, ProcessFunction
from penstock.vocabulary.state_descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from types import TracebackType

    from penstock.runtime.operator import Operator
    from penstock.vocabulary.output_tag import OutputTag

__all__ = ["OperatorHarness"]

_Key = Callable[[Any], Any] | KeySelector[Any, Any]


class OperatorHarness:
    """Runs one operator with its real context, state and timers under a clock that moves only when it is told to.

    What is not simulated: the network and its encoding of records, other operators of the job, several subtasks (there
    is one, which has all keys), checkpoints and restarts, and real waiting. An exception of a function comes out as is.

    Example:
        >>> from penstock.vocabulary.window_assigners import TumblingEventTimeWindows
        >>> harness = OperatorHarness.for_window(TumblingEventTimeWindows.of(5000), reduce=lambda a, b: a + b)
        >>> harness.push(1, 1000)
        >>> harness.push(2, 4000)
        >>> harness.push_watermark(4999)
        >>> harness.outputs
        [(3, 4999)]

    Attributes:
        operator: The operator itself.
        clock: The clock; ``advance`` moves it and runs what becomes due.
        outputs: What came out, as ``(value, timestamp)``.
        watermarks: The watermarks that went on to the next operator.
        statuses: The changes between idle (True) and active (False) that went on to the next operator.
    """

    def __init__(
        self, operator: Operator, *, is_keyed: bool = True, name: str = "step", clock: ManualClock | None = None
    ) -> None:
        self.operator = operator
        self.clock = clock or ManualClock()
        self.outputs: list[tuple[Any, int | None]] = []
        self.watermarks: list[int] = []
        self.statuses: list[bool] = []
        self.metrics = MetricGroup(self.clock.now)
        self._sides: dict[str, list[tuple[Any, int | None]]] = {}
        self._keys = KeyContext()
        self._backend = HeapStateBackend(self._keys) if is_keyed else None
        self._processing_time = ProcessingTimeService(self.clock)
        self._context = OperatorContext(
            info=SubtaskInfo(name=name, index=0, parallelism=1, max_parallelism=128),
            operator_id=name,
            clock=self.clock,
            processing_time=self._processing_time,
            metrics=self.metrics,
            execution_config=ExecutionConfig(),
            keys=self._keys,
            state=self._backend,
        )
        operator.setup(self._context, _HarnessOutput(self))
        operator.open()

    @classmethod
    def for_step(cls, step: steps.Step, *, name: str = "step", clock: ManualClock | None = None) -> Self:
        """Make a harness for a step of a job, with the operator that would run it."""
        return cls(build_operator(step), is_keyed=step.has_keyed_state, name=name, clock=clock)

    @classmethod
    def for_function(cls, function: Any, *, key: _Key | None = None, clock: ManualClock | None = None) -> Self:
        """Make a harness for a map, flat-map, filter, reduce or process function, keyed if a key is given."""
        kinds: dict[type, Callable[..., steps.Step]] = {
            MapFunction: steps.MapStep,
            FlatMapFunction: steps.FlatMapStep,
            FilterFunction: steps.FilterStep,
            ReduceFunction: steps.ReduceStep,
            KeyedProcessFunction: steps.ProcessStep,
            ProcessFunction: steps.ProcessStep,
        }
        make = next((make for kind, make in kinds.items() if isinstance(function, kind)), None)
        if make is None:
            names = ", ".join(kind.__name__ for kind in kinds)
            message = f"for_function() takes one of {names}, not a {type(function).__name__}; other steps: for_step()."
            raise ProgramError(message)
        if key is None and isinstance(function, (ReduceFunction, KeyedProcessFunction)):
            message = f"A {type(function).__name__} works on a keyed stream: give the harness a key."
            raise ProgramError(message)
        step = make(function=function, key=_key_function(key))
        return cls.for_step(step, name=type(function).__name__, clock=clock)

    @classmethod
    def for_process(
        cls,
        function: ProcessFunction[Any, Any] | KeyedProcessFunction[Any, Any, Any],
        *,
        key: _Key | None = None,
        clock: ManualClock | None = None,
    ) -> Self:
        """Make a harness for a process function; a ``KeyedProcessFunction`` needs a key."""
        return cls.for_function(function, key=key, clock=clock)

    @classmethod
    def for_window(
        cls,
        assigner: Any,
        *,
        key: _Key | None = None,
        trigger: Any = None,
        evictor: Any = None,
        allowed_lateness: TimeLength = 0,
        late_tag: OutputTag[Any] | None = None,
        reduce: Any = None,
        aggregate: Any = None,
        function: Any = None,
        clock: ManualClock | None = None,
    ) -> Self:
        """Make a harness for windows: keyed ones if a key is given, else windows over everything."""
        if reduce is not None and aggregate is not None:
            message = "Give the windows either reduce or aggregate, not both."
            raise ProgramError(message)
        step = steps.WindowStep(
            key=_key_function(key) or _one_key,
            is_keyed=key is not None,
            assigner=assigner,
            trigger=trigger,
            evictor=evictor,
            allowed_lateness=to_millis(allowed_lateness),
            late_tag=late_tag,
            reducer=reduce if aggregate is None else aggregate,
            function=function,
        )
        return cls.for_step(step, name=type(assigner).__name__, clock=clock)

    def push(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record."""
        self.operator.process([value], None if timestamp is None else [timestamp])

    def push_run(self, records: Iterable[tuple[Any, int]]) -> None:
        """Give the operator several records with their timestamps in one run, as a job under load does."""
        run = list(records)
        if run:
            self.operator.process([value for value, _ in run], [timestamp for _, timestamp in run])

    def push_second(self, value: Any, timestamp: int | None = None) -> None:
        """Give an operator with two inputs a record of the second one."""
        self.operator.process_second([value], None if timestamp is None else [timestamp])

    def push_watermark(self, timestamp: int) -> None:
        """Advance event time."""
        self.operator.process_watermark(timestamp)

    def push_status(self, *, is_idle: bool) -> None:
        """Tell the operator that its input became idle or active."""
        self.operator.process_status(is_idle)

    def advance(self, time: TimeLength) -> None:
        """Move the clock forward; every timer on the way fires at its own time."""
        target = self.clock.now() + to_millis(time)
        while (due := self._processing_time.next_time()) is not None and due <= target:
            self.clock.set(max(due, self.clock.now()))
            self._processing_time.fire_due()
        self.clock.set(target)

    def end(self) -> None:
        """End a bounded input: the last watermark comes, then nothing more."""
        self.operator.process_watermark(MAX_TIMESTAMP)
        self.operator.end_input()

    def close(self) -> None:
        """Close the operator and its functions."""
        self.operator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def values(self) -> list[Any]:
        """Return the values that came out, without their timestamps."""
        return [value for value, _ in self.outputs]

    def take_outputs(self) -> list[tuple[Any, int | None]]:
        """Return what came out since the last call, and forget it."""
        taken = self.outputs[:]
        self.outputs.clear()
        return taken

    def side_output(self, tag: OutputTag[Any]) -> list[tuple[Any, int | None]]:
        """Return what came out of a side output, as ``(value, timestamp)``."""
        return self._sides.setdefault(tag.tag_id, [])

    def event_timers(self) -> list[tuple[int, Any, Any]]:
        """Return the event-time timers as ``(timestamp, key, namespace)``, the next first."""
        operator = self.operator
        return operator.event_timers() if isinstance(operator, WindowOperator) else self._timers("event_timers")

    def processing_timers(self) -> list[tuple[int, Any, Any]]:
        """Return the processing-time timers as ``(timestamp, key, namespace)``, the next first."""
        return self._timers("processing_timers")

    def _timers(self, domain: str) -> list[tuple[int, Any, Any]]:
        timers = getattr(self.operator, "timers", None)
        if not isinstance(timers, InternalTimers):
            return []
        return sorted(getattr(timers, domain).snapshot(), key=lambda timer: timer[0])

    def state(self, descriptor: StateDescriptor, key: Any, namespace: Any = None) -> Any:
        """Return the content of a state for a key as plain data; ``namespace`` is the window of per-window state."""
        backend = self._context.keyed_state()
        if key not in self.state_keys(descriptor, namespace):
            return _empty(descriptor)
        had_key = self._has_key()
        previous = self._keys.key if had_key else None
        self._keys.key = key
        try:
            state = backend.state(descriptor, namespace)
            if isinstance(descriptor, ValueStateDescriptor):
                return state.value()
            if isinstance(descriptor, ListStateDescriptor):
                return list(state.get() or ())
            if isinstance(descriptor, MapStateDescriptor):
                return dict(state.items())
            return state.get()
        finally:
            if had_key:
                self._keys.key = previous
            else:
                self._keys.forget()

    def _has_key(self) -> bool:
        try:
            _ = self._keys.key
        except ProgramError:
            return False
        return True

    def state_keys(self, descriptor: StateDescriptor, namespace: Any = None) -> list[Any]:
        """Return the keys that have content in a state."""
        return self._context.keyed_state().keys(descriptor.get_name(), namespace)

    def emitted(self, values: Values, timestamps: Timestamps, tag_id: str | None = None) -> None:
        """Note what the operator emits."""
        target = self.outputs if tag_id is None else self._sides.setdefault(tag_id, [])
        times: Iterable[int | None] = [None] * len(values) if timestamps is None else timestamps
        target.extend(zip(values, times, strict=True))


class _HarnessOutput(Output):
    """Keeps whatever is emitted, to whatever tag."""

    __slots__ = ("_harness",)

    def __init__(self, harness: OperatorHarness) -> None:
        super().__init__([_HarnessReceiver(harness)])
        self._harness = harness

    def side(self, tag_id: str) -> Emit:
        """Return where records of a side output are noted."""
        return lambda values, timestamps: self._harness.emitted(values, timestamps, tag_id)


class _HarnessReceiver:
    def __init__(self, harness: OperatorHarness) -> None:
        self.process = harness.emitted
        self.process_watermark = harness.watermarks.append
        self.process_status = harness.statuses.append


def _empty(descriptor: StateDescriptor) -> Any:
    if isinstance(descriptor, ListStateDescriptor):
        return []
    if isinstance(descriptor, MapStateDescriptor):
        return {}
    return descriptor.default_value if isinstance(descriptor, ValueStateDescriptor) else None


def _one_key(_: Any) -> int:
    return 0


def _key_function(key: _Key | None) -> Callable[[Any], Any] | None:
    return key.get_key if isinstance(key, KeySelector) else key
