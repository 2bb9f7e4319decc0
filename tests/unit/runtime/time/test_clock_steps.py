"""Somebody sets the machine's clock while a task runs: durations do not notice, and timers still fire."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import ContinuousProcessingTimeTrigger, GlobalWindows, KeyedProcessFunction, TumblingProcessingTimeWindows
from penstock.connectors.data_generator import DataGeneratorSource
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.rate_limiter import RateLimiterStrategy
from penstock.foundation.clock import ManualClock
from penstock.runtime.task.pacing import Pacer
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.testing import OperatorHarness
from penstock.vocabulary.sources.protocol import ReaderContext

HOUR = 3_600_000
STEPS = [5_000, HOUR]
NOON = 43_200_000
EITHER_WAY = [*STEPS, *(-step for step in STEPS)]


class Service:
    """A service with a clock, and what it has fired, each with the milliseconds that had passed by then."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOON)
        self.service = ProcessingTimeService(self.clock)
        self.fired: list[tuple[str, int]] = []

    def note(self, name: str) -> Any:
        return lambda _: self.fired.append((name, self.clock.elapsed() - NOON))

    def pass_time(self, millis: int) -> None:
        """Lets time pass, in steps as long as the task's loop would wait."""
        end = self.clock.elapsed() + millis
        while True:
            self.service.fire_due()
            due = self.service.next_time()
            left = end - self.clock.elapsed()
            if left <= 0:
                return
            self.clock.advance(min(left, max(1, left if due is None else due - self.clock.now())))


@pytest.mark.parametrize("step", EITHER_WAY)
def test_durations_do_not_notice(step: int) -> None:
    run = Service()
    run.service.after(10_000, run.note("once"))
    run.service.schedule_every(4_000, run.note("again"))
    run.pass_time(1_000)
    run.clock.step(step)
    run.pass_time(12_000)
    assert run.fired == [("again", 4_000), ("again", 8_000), ("once", 10_000), ("again", 12_000)]


@pytest.mark.parametrize("step", STEPS)
def test_set_back_what_waits_fires_when_it_would_have(step: int) -> None:
    run = Service()
    run.service.schedule(NOON + 10_000, run.note("timer"))
    run.pass_time(1_000)
    run.clock.step(-step)
    run.pass_time(8_999)
    assert run.fired == []
    run.pass_time(1)
    assert run.fired == [("timer", 10_000)]


@pytest.mark.parametrize("step", STEPS)
def test_set_forwards_what_the_clock_has_passed_fires_at_once_in_order(step: int) -> None:
    run = Service()
    for name, time in [("behind", step + 2_000), ("second", 4_000), ("first", 3_000)]:
        run.service.schedule(NOON + time, run.note(name))
    run.pass_time(1_000)
    run.clock.step(step)
    run.pass_time(1_000)
    assert run.fired == [("first", 1_000), ("second", 1_000), ("behind", 2_000)]


@pytest.mark.parametrize("step", EITHER_WAY)
def test_what_is_scheduled_afterwards_goes_by_the_clock_as_it_is(step: int) -> None:
    run = Service()
    run.clock.step(step)
    run.service.schedule(run.clock.now() + 3_000, run.note("timer"))
    run.pass_time(3_000)
    assert run.fired == [("timer", 3_000)]


def test_a_step_that_is_undone_has_not_been() -> None:
    run = Service()
    run.service.schedule(NOON + 1_800_000, run.note("timer"))
    run.clock.step(-HOUR)
    run.pass_time(10_000)
    run.clock.step(HOUR)
    run.pass_time(1_789_999)
    assert run.fired == []
    run.pass_time(1)
    assert run.fired == [("timer", 1_800_000)]


def test_small_corrections_are_followed() -> None:
    """They come all the time, and a window of the clock must not end before the clock says so."""
    run = Service()
    run.service.schedule(NOON + 10_000, run.note("timer"))
    for _ in range(5):
        run.clock.step(-400)
        run.pass_time(1_000)
    run.pass_time(6_999)
    assert run.fired == []
    run.pass_time(1)
    assert run.fired == [("timer", 12_000)]


def test_a_process_that_was_stopped_between_two_looks_at_the_clocks_sees_no_step() -> None:
    run = Service()
    run.service.schedule(NOON + 10_000, run.note("timer"))
    read = run.clock.now

    def stopped() -> int:
        run.clock.now = read  # type: ignore[method-assign]
        now = read()
        run.clock.advance(6_000)
        return now

    run.clock.now = stopped  # type: ignore[method-assign]
    run.service.fire_due()
    assert run.fired == []
    assert run.service.next_time() == NOON + 10_000


class Reminder(KeyedProcessFunction):
    """Sets a timer for each record, so many milliseconds after the clock's time."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield (ctx.get_current_key(), timestamp - NOON, ctx.timer_service().current_processing_time() - NOON)


def reminders() -> OperatorHarness:
    return OperatorHarness.for_process(Reminder(), key=lambda value: value[0], clock=ManualClock(NOON))


@pytest.mark.parametrize("step", STEPS)
def test_timers_of_keys_fire_after_a_step_back(step: int) -> None:
    harness = reminders()
    harness.push(("a", 10_000))
    harness.push(("b", 20_000))
    harness.advance(1_000)
    harness.clock.step(-step)
    harness.push(("c", 2_000))
    harness.advance(18_000)
    assert harness.values == [("c", 3_000 - step, 3_000 - step), ("a", 10_000, 10_000 - step)]
    harness.advance(1_000)
    assert harness.values[2:] == [("b", 20_000, 20_000 - step)]
    assert harness.processing_timers() == []


@pytest.mark.parametrize("step", STEPS)
def test_timers_of_keys_fire_after_a_step_forwards(step: int) -> None:
    harness = reminders()
    harness.push(("a", 3_000))
    harness.push(("b", step + 3_000))
    harness.advance(1_000)
    harness.clock.step(step)
    harness.push(("c", 1_000))
    harness.advance(1_000)
    now = step + 1_000
    assert harness.values == [("a", 3_000, now), ("c", now + 1_000, now + 1_000)]
    harness.advance(1_000)
    assert harness.values[2:] == [("b", step + 3_000, step + 3_000)]


@pytest.mark.parametrize("step", STEPS)
def test_a_window_of_the_clock_ends_when_it_would_have_and_may_come_again(step: int) -> None:
    """As in Flink, records that come after the step fall into the windows of the clock as it is then."""
    assigner = TumblingProcessingTimeWindows.of(60_000)
    harness = OperatorHarness.for_window(assigner, reduce=lambda a, b: a + b, key=lambda _: 0, clock=ManualClock(NOON))
    harness.push(1)
    harness.advance(58_000)
    harness.push(10)
    harness.clock.step(-step)
    harness.advance(2_000)
    assert harness.values == [11]
    harness.push(100)
    harness.advance(60_000)
    assert harness.values == [11, 100]


@pytest.mark.parametrize("step", EITHER_WAY)
def test_a_trigger_by_intervals_goes_on(step: int) -> None:
    trigger = ContinuousProcessingTimeTrigger.of(10_000)
    harness = OperatorHarness.for_window(
        GlobalWindows.create(), trigger=trigger, reduce=lambda a, b: a + b, key=lambda _: 0, clock=ManualClock(NOON)
    )
    harness.push(1)
    harness.advance(25_000)
    assert harness.values == [1, 1]
    harness.clock.step(step)
    harness.advance(25_000)
    assert len(harness.values) >= 4


@pytest.mark.parametrize("step", EITHER_WAY)
def test_a_source_keeps_its_rate(step: int) -> None:
    clock = ManualClock(NOON)
    source: DataGeneratorSource[int] = DataGeneratorSource(int, 10_000, RateLimiterStrategy.per_second(100))
    context = ReaderContext(0, 1, now=clock.now, elapsed=clock.elapsed)
    reader = source.open_split(source.create_splits(1)[0], None, context)

    def read_for(millis: int) -> int:
        seen = 0
        for _ in range(millis // 10):
            clock.advance(10)
            records = reader.read(1_000)
            assert records is not None
            seen += len(records[0])
        return seen

    read_for(1_000)
    clock.step(step)
    assert read_for(2_000) == 200


@pytest.mark.parametrize("step", EITHER_WAY)
def test_runs_do_not_become_shorter(step: int) -> None:
    clock = ManualClock(NOON)
    pacer = Pacer(clock)
    pacer.begin()
    clock.step(step)
    pacer.end(64)
    assert pacer.limit == 128


class Part:
    """A part file."""

    def __init__(self, created: int, updated: int) -> None:
        self._created = created
        self._updated = updated

    def get_bucket_id(self) -> str:
        return "bucket"

    def get_size(self) -> int:
        return 1

    def get_creation_time(self) -> int:
        return self._created

    def get_last_update_time(self) -> int:
        return self._updated


@pytest.mark.parametrize("step", STEPS)
def test_a_part_file_from_before_a_step_back_is_closed(step: int) -> None:
    """How old it is cannot be told any more; it must not stay open for an hour longer."""
    policy = RollingPolicy.default_rolling_policy()
    assert policy.should_roll_on_processing_time(Part(NOON, NOON), NOON - step)
    assert not policy.should_roll_on_processing_time(Part(NOON, NOON), NOON - 400)
