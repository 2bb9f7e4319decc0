"""Jobs with timers, state and side outputs that transcripts name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.data_stream import DataStream
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.vocabulary.functions.windowed import ProcessWindowFunction
from penstock.vocabulary.state.descriptors import ValueStateDescriptor
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.windows.assigners import TumblingEventTimeWindows

Stream = DataStream[Any]
Context = KeyedProcessFunction.Context
OnTimer = KeyedProcessFunction.OnTimerContext
Keyed = KeyedProcessFunction[Any, Any, Any]


def value_state(runtime_context: Any, name: str) -> Any:
    return runtime_context.get_state(ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY()))


class ShowWatermark(Keyed):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        yield value[1], ctx.timer_service().current_watermark()


def watermark_at_each_record(*streams: Stream) -> Stream:
    return streams[0].union(*streams[1:]).key_by(0).process(ShowWatermark())


class StartAndCount(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().start, len(list(elements))


def only_kept_in_windows(records: Stream) -> Stream:
    kept = records.filter(lambda record: record[0] == "keep")
    return kept.key_by(0).window(TumblingEventTimeWindows.of(5000)).process(StartAndCount())


class FiveSecondsLater(Keyed):
    def process_element(self, value: Any, ctx: Context) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)  # type: ignore[operator]

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        yield timestamp, ctx.timer_service().current_watermark(), ctx.get_current_key(), ctx.time_domain().name


def timer_five_seconds_later(readings: Stream) -> Stream:
    return readings.key_by(0).process(FiveSecondsLater())


class AfterDelay(Keyed):
    def __init__(self, delay: int) -> None:
        self._delay = delay

    def process_element(self, value: Any, ctx: Context) -> None:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + self._delay)

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name


def timer_now(readings: Stream) -> Stream:
    return readings.key_by(0).process(AfterDelay(0))


def timer_in_ten_millis(readings: Stream) -> Stream:
    return readings.key_by(0).process(AfterDelay(10))


class TimerAtTen(Keyed):
    def process_element(self, value: Any, ctx: Context) -> None:
        service = ctx.timer_service()
        if value[1] == "delete":
            service.delete_event_time_timer(10_000)
        elif value[1] == "delete another":
            service.delete_event_time_timer(77)
            service.delete_processing_time_timer(77)
        else:
            service.register_event_time_timer(10_000)

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp


def timer_at_ten_seconds(requests: Stream) -> Stream:
    return requests.key_by(0).process(TimerAtTen())


class Rising(Keyed):
    """Warns when a level has not stopped rising for a while."""

    def __init__(self, *, is_cleared: bool = False) -> None:
        self._is_cleared = is_cleared

    def open(self, runtime_context: Any) -> None:
        self._level = value_state(runtime_context, "level")
        self._timer = value_state(runtime_context, "timer")

    def process_element(self, value: Any, ctx: Context) -> None:
        level = self._level.value() or 0
        timer = self._timer.value()
        self._level.update(value[2])
        if value[2] > level:
            if timer is None:
                self._timer.update(self.start_timer(ctx))
        elif timer is not None:
            self.stop_timer(ctx, timer)
            self._timer.clear()

    def start_timer(self, ctx: Context) -> int:
        timer: int = ctx.timestamp() + 5000  # type: ignore[operator]
        ctx.timer_service().register_event_time_timer(timer)
        return timer

    def stop_timer(self, ctx: Context, timer: int) -> None:
        ctx.timer_service().delete_event_time_timer(timer)

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        if self._is_cleared:
            self._timer.clear()
        yield ctx.get_current_key(), timestamp


def rising_level(readings: Stream) -> Stream:
    return readings.key_by(0).process(Rising())


def rising_level_cleared(readings: Stream) -> Stream:
    return readings.key_by(0).process(Rising(is_cleared=True))


class RisingInPlainFields(Rising):
    """The same without keyed state: wrong, because a subtask has one object for all its keys."""

    def open(self, runtime_context: Any) -> None:
        self._level = Field()
        self._timer = Field()


class Field:
    def __init__(self) -> None:
        self.content: Any = None

    def value(self) -> Any:
        return self.content

    def update(self, value: Any) -> None:
        self.content = value

    def clear(self) -> None:
        self.content = None


def rising_level_in_plain_fields(readings: Stream) -> Stream:
    return readings.key_by(0).process(RisingInPlainFields())


class RisingForASecond(Rising):
    def start_timer(self, ctx: Context) -> int:
        timer = ctx.timer_service().current_processing_time() + 1000
        ctx.timer_service().register_processing_time_timer(timer)
        return timer

    def stop_timer(self, ctx: Context, timer: int) -> None:
        ctx.timer_service().delete_processing_time_timer(timer)


def temperature_rising(readings: Stream) -> Stream:
    return readings.key_by(0).process(RisingForASecond(is_cleared=True))


class HighBoth(ProcessFunction[Any, Any]):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        if value[2] > 5:
            ctx.output(OutputTag("highLevel", Types.LONG()), value[1])
        yield value


def high_levels_too(readings: Stream) -> Stream:
    return readings.process(HighBoth())


class HighOnly(ProcessFunction[Any, Any]):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        if value[2] >= 5:
            yield OutputTag("high"), value
        else:
            yield f"{value[2]} normal"


def high_levels_apart(readings: Stream) -> Stream:
    return readings.process(HighOnly())


class Jump(Keyed):
    """Warns when two readings in a row, close enough in time, differ by too much."""

    def __init__(self, height: int, within: int | None = None) -> None:
        self._height = height
        self._within = within

    def open(self, runtime_context: Any) -> None:
        self._last = value_state(runtime_context, "last")

    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        last = self._last.value()
        now = ctx.timestamp()
        self._last.update((now, value[2]))
        if last is not None and abs(value[2] - last[1]) > self._height:
            assert now is not None
            if self._within is None or now - last[0] <= self._within:
                yield value[2], abs(value[2] - last[1])


def difference_above_40(readings: Stream) -> Stream:
    return readings.key_by(0).process(Jump(40))


def jump_above_20_in_a_minute(readings: Stream) -> Stream:
    return readings.key_by(0).process(Jump(20, 60_000))


class OneAtATime(Keyed):
    """Fails if a callback starts while another one has not come to its end."""

    def open(self, runtime_context: Any) -> None:
        self._running: str | None = None

    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        self._begin("process_element")
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)  # type: ignore[operator]
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time())
        yield f"begin {value[1]}"
        yield f"end {value[1]}"
        self._running = None

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        self._begin("on_timer")
        if ctx.time_domain().name == "EVENT_TIME":
            yield f"timer {timestamp}"
        self._running = None

    def _begin(self, callback: str) -> None:
        if self._running is not None:
            raise AssertionError(f"{callback} began within {self._running}")
        self._running = callback


def one_at_a_time(readings: Stream) -> Stream:
    return readings.key_by(0).process(OneAtATime())


class WithArrivalWatermark(Keyed):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        yield value[0], ctx.timestamp(), ctx.timer_service().current_watermark()


def timers_then_watermark(readings: Stream) -> Stream:
    fired = readings.key_by(0).process(FiveSecondsLater())
    return fired.key_by(2).process(WithArrivalWatermark())


class ShowContext(Keyed):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        service = ctx.timer_service()
        yield ctx.timestamp(), ctx.get_current_key(), service.current_watermark(), service.current_processing_time()


def context_of_each_record(readings: Stream) -> Stream:
    return readings.key_by(0).process(ShowContext())


def context_without_clock(readings: Stream) -> Stream:
    return context_of_each_record(readings).map(lambda seen: (*seen[:3], seen[3] > 1_600_000_000_000 or seen[3] == 0))


class FailedLogins(Keyed):
    def open(self, runtime_context: Any) -> None:
        self._failed = value_state(runtime_context, "failed")

    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        failed = 0 if value[1] == "S" else (self._failed.value() or 0) + 1
        if failed == 3:
            yield ctx.get_current_key(), ctx.timestamp()
            failed = 0
        self._failed.update(failed)


def three_failed_logins(logins: Stream) -> Stream:
    return logins.key_by(0).process(FailedLogins())


class CardFraud(Keyed):
    def open(self, runtime_context: Any) -> None:
        self._last = value_state(runtime_context, "last amount")

    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        last = self._last.value()
        if last is not None and last < 1 and value[1] > 500:
            yield ctx.get_current_key(), value[1]
        self._last.update(value[1])


def card_fraud(payments: Stream) -> Stream:
    return payments.key_by(0).process(CardFraud())


class Unpaid(Keyed):
    def open(self, runtime_context: Any) -> None:
        self._due = value_state(runtime_context, "due")

    def process_element(self, value: Any, ctx: Context) -> None:
        if value[1] == "created":
            due = ctx.timestamp() + 900_000  # type: ignore[operator]
            self._due.update(due)
            ctx.timer_service().register_event_time_timer(due)
        elif (due := self._due.value()) is not None:
            ctx.timer_service().delete_event_time_timer(due)
            self._due.clear()

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterable[Any]:
        self._due.clear()
        yield ctx.get_current_key(), "timeout"


def unpaid_orders(orders: Stream) -> Stream:
    return orders.key_by(0).process(Unpaid())
