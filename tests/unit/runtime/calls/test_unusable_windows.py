"""What functions say about windows and nobody can use is refused: with the step, the function, its line and the value.

No message shows a line of Penstock.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    UserFunctionError,
    WindowAssigner,
)
from penstock.testing.local_run import LocalRun
from tests.unit.local_jobs import environment, local_run
from tests.unit.runtime.calls.unusable_jobs import check, explained, keyed, windowed


class Assigning(WindowAssigner):
    """Tumbling windows of the program's own, but for what it returns."""

    def __init__(self, windows: Any) -> None:
        self.windows = windows

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        return self.windows

    def get_default_trigger(self, env: Any = None) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        (None, "returned None"),
        (5, "returned 5 (int)"),
        (TimeWindow(0, 5), "write [TimeWindow(start=0, end=5)]"),
        ([(0, 5)], "(0, 5) (tuple) in it, which is no Window"),
        ([TimeWindow(0, 5.5)], "is 4.5 (float), but a time is a whole number"),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_assigners_that_return_no_windows(windows: Any, said: str) -> None:
    assigner = Assigning(windows)
    error = explained(keyed(environment()).window(assigner).reduce(lambda a, b: a).name("the step"))
    check(error, "the step", Assigning.assign_windows, said)
    assert error.record == "('a', 1)"


class Untriggered(Assigning):
    def get_default_trigger(self, env: Any = None) -> Any:
        return "event time"


def test_assigners_without_a_trigger() -> None:
    error = explained(keyed(environment()).window(Untriggered(())).reduce(lambda a, b: a).name("the step"))
    check(error, "the step", Untriggered.get_default_trigger, "returned 'event time' (str), but it makes a Trigger.")


class Answering(Trigger):
    def __init__(self, method: str, answer: Any) -> None:
        self.method = method
        self.answer = answer

    def _answer(self, method: str) -> Any:
        return self.answer if method == self.method else TriggerResult.CONTINUE

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        ctx.register_event_time_timer(window.max_timestamp())
        ctx.register_processing_time_timer(5)
        return self._answer("on_element")

    def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
        return self._answer("on_event_time")

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> Any:
        return self._answer("on_processing_time")

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        pass


def _run_beyond(run: LocalRun, time: int) -> None:
    run.step()
    run.advance(time)
    run.run()


@pytest.mark.parametrize("answer", [None, True, "FIRE", 1], ids=str)
@pytest.mark.parametrize("method", ["on_element", "on_event_time", "on_processing_time"])
def test_triggers_that_do_not_answer(method: str, answer: Any) -> None:
    trigger = Answering(method, answer)
    windowed(env := environment()).trigger(trigger).reduce(lambda a, b: a).name("the step").print()
    run = local_run(env)
    with pytest.raises(UserFunctionError) as caught:
        _run_beyond(run, 10)
    shown = "None" if answer is None else f"{answer!r} ({type(answer).__name__})"
    check(caught.value, "the step", trigger, f"The trigger returned {shown}", "TriggerResult.CONTINUE")


@pytest.mark.parametrize("gap", [None, 2.5, "long", 0, -5], ids=str)
def test_gaps_that_are_none(gap: Any) -> None:
    def extract(record: Any) -> Any:
        return gap

    stream = keyed(environment()).window(EventTimeSessionWindows.with_dynamic_gap(extract)).reduce(lambda a, b: a)
    error = explained(stream.name("the step"))
    shown = "None" if gap is None else repr(gap)
    check(error, "the step", extract, f"The gap extractor returned {shown}")
    assert error.record == "('a', 1)"


@pytest.mark.parametrize("distance", [None, "far"], ids=str)
@pytest.mark.parametrize("place", ["trigger", "evictor"])
def test_distances_that_are_no_numbers(place: str, distance: Any) -> None:
    def delta(older: Any, newer: Any) -> Any:
        return distance

    windows = keyed(environment()).window(GlobalWindows.create())
    if place == "trigger":
        stream = windows.trigger(DeltaTrigger.of(1.0, delta)).reduce(lambda a, b: a)
    else:
        stream = windowed(environment()).evictor(DeltaEvictor.of(1.0, delta)).reduce(lambda a, b: a)
    check(
        explained(stream.name("the step")), "the step", delta, "The delta function returned", "a distance is a number"
    )


class Failing(Answering):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        raise KeyError("mine")


def test_a_trigger_that_fails_is_named_and_not_the_reduce_function() -> None:
    stream = windowed(environment()).trigger(Failing("", None)).reduce(lambda a, b: a).name("the step")
    check(explained(stream), "the step", Failing.on_element, "KeyError: 'mine'")
