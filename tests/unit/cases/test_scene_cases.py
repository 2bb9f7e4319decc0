"""Business scenes that need keyed state and timers but no windows: W-116 to W-121 and W-124."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    AssignerWithPunctuatedWatermarks,
    KeyedProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
    Watermark,
)
from penstock.runtime.operators.process import KeyedProcessOperator
from penstock.testing.harness import OperatorHarness
from tests.unit.local_jobs import environment, results


class ByField(AssignerWithPunctuatedWatermarks[Any]):
    """The second field is the time in seconds; each record carries its watermark."""

    def extract_timestamp(self, element: Any, record_timestamp: int) -> int:
        return int(element[1] * 1000)

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark:
        return Watermark(extracted_timestamp)


class Rising(KeyedProcessFunction):
    """Alarms when the temperature has risen for one second of processing time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", None))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        service = ctx.timer_service()
        last, timer = self.last.value(), self.timer.value()
        self.last.update(value[1])
        if last is None or value[1] > last:
            if timer is None:
                timer = service.current_processing_time() + 1000
                service.register_processing_time_timer(timer)
                self.timer.update(timer)
        elif timer is not None:
            service.delete_processing_time_timer(timer)
            self.timer.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        self.timer.clear()
        yield ctx.get_current_key(), timestamp


def test_w_116_temperature_rising_for_one_second() -> None:
    harness = OperatorHarness(KeyedProcessOperator(Rising(), lambda reading: reading[0]))
    start = harness.clock.now()
    for temperature in (20, 21, 19, 22, 23):  # 19 is a fall: it deletes the timer of 20
        harness.push(("s", temperature))
        harness.advance(300)
    assert harness.outputs == []
    harness.push(("s", 24))
    harness.advance(1000)
    # 22 came 900 ms after the start.
    assert [value for value, _ in harness.outputs] == [("s", start + 1900)]


class ThreeFailures(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.failures = runtime_context.get_list_state(ListStateDescriptor("failures", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        if value[1] == "S":
            self.failures.clear()
            return
        self.failures.add(value[2])
        if len(list(self.failures)) == 3:
            self.failures.clear()
            yield value[0], value[2]


def test_w_117_three_failed_logins_in_a_row() -> None:
    logins = [("mary", outcome, number) for number, outcome in enumerate("FFSFFF")]
    assert results(environment().from_collection(logins).key_by(0).process(ThreeFailures())) == [("mary", 5)]


class Fraud(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        last = self.last.value()
        self.last.update(value[1])
        if last is not None and last < 1 and value[1] > 500:
            yield value[0]


@pytest.mark.parametrize(
    ("amounts", "alarms"), [([0.5, 600], ["card"]), ([0.5, 20, 600], []), ([1.0, 600], []), ([0.5, 500], [])]
)
def test_w_118_card_fraud(amounts: list[float], alarms: list[str]) -> None:
    payments = [("card", amount) for amount in amounts]
    assert results(environment().from_collection(payments).key_by(0).process(Fraud())) == alarms


class Unpaid(KeyedProcessFunction):
    WAIT = 15 * 60 * 1000

    def open(self, runtime_context: RuntimeContext) -> None:
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        if value[2] == "created":
            self.timer.update(ctx.timestamp() + self.WAIT)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + self.WAIT)
        elif self.timer.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.timer.value())
            self.timer.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize(
    ("events", "timeouts"),
    [
        ([("o", 0, "created"), ("other", 900, "paid")], [("o", 900_000)]),
        ([("o", 0, "created"), ("o", 899, "paid"), ("other", 2000, "paid")], []),
        ([("o", 0, "created")], [("o", 900_000)]),  # the end of the bounded input reaches every timer
    ],
)
def test_w_119_unpaid_order(events: list[Any], timeouts: list[Any]) -> None:
    stream = environment().from_collection(events).assign_timestamps_and_watermarks(ByField())
    assert results(stream.key_by(0).process(Unpaid())) == timeouts


class Jump(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        last = self.last.value()
        self.last.update(value)
        if last is not None and value[1] - last[1] <= 60 and abs(value[2] - last[2]) > 20:
            yield value


def test_w_121_level_jump_within_a_minute() -> None:
    readings = [("s", 0, 10), ("s", 30, 31), ("s", 60, 50), ("s", 121, 80), ("s", 130, 100)]
    # 31 is 21 above 10 after half a minute; 50 is 19 above 31; 80 comes after more than a minute; 100 is 20 above.
    assert results(environment().from_collection(readings).key_by(0).process(Jump())) == [("s", 30, 31)]


@pytest.mark.parametrize(("text", "is_even"), [("1001", True), ("100", True), ("0", False)])
def test_w_124_even_number_of_zeros(text: str, is_even: bool) -> None:
    digits = environment().from_collection(list(text)).key_by(lambda digit: 0)

    def step(digit: str, has_odd: bool | None) -> Any:
        odd = bool(has_odd) != (digit == "0")
        return not odd, odd

    assert results(digits.map_with_state(step))[-1] is is_even
