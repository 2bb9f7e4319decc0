"""Times that are no whole milliseconds are refused where the program hands them over; those of numpy are taken."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from penstock import (
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    KeyedProcessFunction,
    ProcessFunction,
    SourceFunction,
    Time,
    TimestampAssigner,
    Trigger,
    TriggerResult,
    UserFunctionError,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from tests.unit.local_jobs import environment, local_run, run_locally
from tests.unit.runtime.calls.unusable_jobs import check, explained, keyed, windowed

WRONG = [1.5, np.float64(2), None, "12", True, np.bool_(1), datetime(2026, 1, 1, tzinfo=UTC)]
RIGHT = [7, np.int64(7), np.uint8(7)]
wrong = pytest.mark.parametrize("time", WRONG, ids=lambda time: type(time).__name__)
right = pytest.mark.parametrize("time", RIGHT, ids=lambda time: type(time).__name__)


def shown(time: Any) -> str:
    return "None" if time is None else f"{time!r} ({type(time).__name__})"


class Assigner(TimestampAssigner):
    def __init__(self, time: Any) -> None:
        self.time = time

    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return self.time


class OfField(TimestampAssigner):
    """What such an assigner does is done by a built-in function."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return value[1]


class Periodic(AssignerWithPeriodicWatermarks):
    def __init__(self, time: Any, mark: Any = None) -> None:
        self.time = time
        self.mark = mark

    def extract_timestamp(self, element: Any, previous_element_timestamp: int) -> Any:
        return self.time

    def get_current_watermark(self) -> Any:
        return self.mark


class Punctuated(AssignerWithPunctuatedWatermarks):
    def __init__(self, time: Any, mark: Any = None) -> None:
        self.time = time
        self.mark = mark

    def extract_timestamp(self, element: Any, previous_element_timestamp: int) -> Any:
        return self.time

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Any:
        return self.mark


class Bounded(BoundedOutOfOrdernessTimestampExtractor):
    def __init__(self, time: Any) -> None:
        super().__init__(Time.seconds(1))
        self.time = time

    def extract_timestamp(self, element: Any) -> Any:
        return self.time


class Ascending(AscendingTimestampExtractor):
    def __init__(self, time: Any) -> None:
        self.time = time

    def extract_ascending_timestamp(self, element: Any) -> Any:
        return self.time


class Generator(WatermarkGenerator):
    """Emits a mark for each record, or at each interval."""

    def __init__(self, mark: Any, *, is_periodic: bool = False) -> None:
        self.mark = mark
        self.is_periodic = is_periodic

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if not self.is_periodic:
            output.emit_watermark(self.mark)

    def on_periodic_emit(self, output: Any) -> None:
        if self.is_periodic:
            output.emit_watermark(self.mark)


def with_assigner(assigner: Any) -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)


def plain(time: Any) -> Any:
    return lambda value, _: time


def generator_behind(time: Any) -> WatermarkStrategy:
    """A generator that sees every record has another way through the runtime."""
    return WatermarkStrategy.for_generator(lambda: Generator(Watermark(3))).with_timestamp_assigner(Assigner(time))


ASSIGNERS = {
    "callable": (lambda time: with_assigner(plain(time)), plain),
    "assigner": (lambda time: with_assigner(Assigner(time)), Assigner.extract_timestamp),
    "assigner behind a generator": (generator_behind, Assigner.extract_timestamp),
    "periodic": (lambda time: WatermarkStrategy.for_legacy_assigner(Periodic(time)), Periodic.extract_timestamp),
    "punctuated": (lambda time: WatermarkStrategy.for_legacy_assigner(Punctuated(time)), Punctuated.extract_timestamp),
    "bounded": (lambda time: WatermarkStrategy.for_legacy_assigner(Bounded(time)), Bounded.extract_timestamp),
    "ascending": (
        lambda time: WatermarkStrategy.for_legacy_assigner(Ascending(time)),
        Ascending.extract_ascending_timestamp,
    ),
}


def stamped(strategy: WatermarkStrategy) -> Any:
    stream = environment().from_collection([("a", 1), ("b", 2)])
    return stream.assign_timestamps_and_watermarks(strategy).name("the step")


@wrong
@pytest.mark.parametrize("name", ASSIGNERS)
def test_timestamps_that_are_none(name: str, time: Any) -> None:
    make, function = ASSIGNERS[name]
    error = explained(stamped(make(time)))
    check(error, "the step", function, f"returned {shown(time)}", "whole number of milliseconds")
    assert error.record == "('a', 1)"
    assert error.user_traceback == ""


@right
@pytest.mark.parametrize("name", ASSIGNERS)
def test_timestamps_of_other_libraries(name: str, time: Any) -> None:
    stream = stamped(ASSIGNERS[name][0](time))
    stream.map(lambda record: record).process(Timestamps()).print()
    assert run_locally(stream.get_execution_environment()).printed == ["int 7", "int 7"]


class Timestamps(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield f"{type(ctx.timestamp()).__name__} {ctx.timestamp()}"


@pytest.mark.parametrize("second", [2.0, None, "x"], ids=str)
def test_the_record_is_the_one_with_the_wrong_time(second: Any) -> None:
    stream = environment().from_collection([("a", 1), ("b", second), ("c", 3.0)])
    error = explained(stream.assign_timestamps_and_watermarks(with_assigner(OfField())).name("the step"))
    check(error, "the step", OfField.extract_timestamp, f"returned {shown(second)}")
    assert error.record == repr(("b", second))


@pytest.mark.parametrize(
    ("time", "remedy"),
    [
        (1.5, "int(time.time() * 1000)"),
        (None, "filter those out"),
        ("2026-01-01", "datetime.fromisoformat(text)"),
        (True, "A truth value is no time"),
        (datetime(2026, 1, 1, tzinfo=UTC), "moment.timestamp()"),
    ],
    ids=str,
)
def test_the_message_says_what_to_do(time: Any, remedy: str) -> None:
    assert remedy in str(explained(stamped(with_assigner(Assigner(time)))))


@wrong
@pytest.mark.parametrize("is_periodic", [False, True])
def test_watermarks_of_generators(time: Any, is_periodic: bool) -> None:
    def make() -> Any:
        return Generator(Watermark(time), is_periodic=is_periodic)

    stream = stamped(WatermarkStrategy.for_generator(make).with_timestamp_assigner(Assigner(1)))
    stream.print()
    run = local_run(stream.get_execution_environment())
    with pytest.raises(UserFunctionError) as caught:
        _run_beyond(run, 300)
    check(caught.value, "the step", Generator(0), "The watermark generator emitted", "output.emit_watermark(self.mark)")


def _run_beyond(run: Any, time: int) -> None:
    run.step()
    run.advance(time)
    run.run()


def no_generator() -> Any:
    return 5


def test_generators_that_are_none() -> None:
    error = explained(stamped(WatermarkStrategy.for_generator(no_generator)))
    check(error, "the step", no_generator, "made 5 (int), which is no WatermarkGenerator")


def test_watermarks_that_are_none() -> None:
    stream = stamped(WatermarkStrategy.for_generator(lambda: Generator(5)).with_timestamp_assigner(Assigner(1)))
    check(explained(stream), "the step", Generator(0), "takes a Watermark, not 5 (int). Write Watermark(time).")


@pytest.mark.parametrize("mark", [1.5, Watermark(1.5), "12", True], ids=str)  # type: ignore[arg-type]
@pytest.mark.parametrize("kind", [Periodic, Punctuated])
def test_watermarks_of_legacy_assigners(kind: Any, mark: Any) -> None:
    stream = stamped(WatermarkStrategy.for_legacy_assigner(kind(1, mark)))
    stream.print()
    run = local_run(stream.get_execution_environment())
    with pytest.raises(UserFunctionError) as caught:
        _run_beyond(run, 300)
    method = kind.get_current_watermark if kind is Periodic else kind.check_and_get_next_watermark
    check(caught.value, "the step", method, f"{method.__name__}() returned", "whole number of milliseconds")


# -- timers


TIMERS = [
    "register_event_time_timer",
    "register_processing_time_timer",
    "delete_event_time_timer",
    "delete_processing_time_timer",
]


class Timing(KeyedProcessFunction):
    def __init__(self, method: str, time: Any) -> None:
        self.method = method
        self.time = time

    def process_element(self, value: Any, ctx: Any) -> Any:
        service = ctx.timer_service()
        for moment in (1, 2, 12):  # equal to some of the wrong ones
            service.register_event_time_timer(moment)
        getattr(service, self.method)(self.time)


class TimingTrigger(Trigger):
    def __init__(self, method: str, time: Any) -> None:
        self.method = method
        self.time = time

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        getattr(ctx, self.method)(self.time)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        pass


@wrong
@pytest.mark.parametrize("method", TIMERS)
@pytest.mark.parametrize("place", ["function", "trigger"])
def test_timers(place: str, method: str, time: Any) -> None:
    function: Any
    if place == "function":
        function = Timing(method, time)
        stream = keyed(environment()).process(function)
    else:
        function = TimingTrigger(method, time)
        stream = windowed(environment()).trigger(function).reduce(lambda a, b: a)
    error = explained(stream.name("the step"))
    check(error, "the step", function, f"{method}() was given {shown(time)}")
    assert "self.method)(self.time)" in error.user_traceback
    assert error.record == "('a', 1)"


class Firing(Timing):
    def process_element(self, value: Any, ctx: Any) -> Any:
        getattr(ctx.timer_service(), self.method)(self.time)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"{type(timestamp).__name__} {timestamp}"


@right
def test_timers_of_other_libraries(time: Any) -> None:
    keyed(env := environment()).process(Firing("register_event_time_timer", time)).print()
    assert run_locally(env).printed == ["int 7"]


# -- source functions


class Emitting(SourceFunction):
    def __init__(self, method: str, *arguments: Any) -> None:
        self.method = method
        self.arguments = arguments

    def run(self, ctx: Any) -> None:
        getattr(ctx, self.method)(*self.arguments)

    def cancel(self) -> None:
        pass


@wrong
def test_timestamps_of_source_functions(time: Any) -> None:
    source = Emitting("collect_with_timestamp", "record", time)
    error = explained(environment().add_source(source).name("the step"))
    check(error, "the step", source, f"collect_with_timestamp() was given {shown(time)}")
    assert error.record == "'record'"


@wrong
def test_watermarks_of_source_functions(time: Any) -> None:
    source = Emitting("emit_watermark", Watermark(time))
    error = explained(environment().add_source(source).name("the step"))
    check(error, "the step", source, f"emit_watermark() was given {shown(time)}")
