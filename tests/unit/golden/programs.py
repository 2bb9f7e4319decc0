"""The programs whose savepoints are kept for ever. They may be added to, but what is here never changes.

Between them they have every kind of state: keyed, of windows, of joins, of patterns, operator state, timers, positions
of sources, transactions and batches that wait for their checkpoint, records in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    CheckpointCommitter,
    CheckpointedFunction,
    CountEvictor,
    DataStream,
    EventTimeSessionWindows,
    GenericWriteAheadSink,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    ProcessJoinFunction,
    ReducingStateDescriptor,
    Row,
    RowKind,
    StateTtlConfig,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    TwoPhaseCommitSinkFunction,
    ValueStateDescriptor,
)
from penstock.cep import CEP, Pattern
from tests.unit.runtime.checkpoint.recovery_bench import timed

__all__ = ["PROGRAMS", "WORLD", "Colour", "Customer", "Item", "Visit"]


@dataclass(frozen=True)
class Customer:
    """A key."""

    country: str
    number: int


class Colour(Enum):
    """A part of records."""

    RED = 1
    BLUE = 2


@dataclass
class Item:
    """A record."""

    customer: Customer
    name: str
    price: int
    colour: Colour = Colour.RED


class Visit(NamedTuple):
    """A value of state."""

    page: str
    count: int


class Basket:
    """A value of state, of a class that is neither a dataclass nor a named tuple."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items

    def __repr__(self) -> str:
        return f"Basket({self.items})"


ANN, BOB, EVE = Customer("de", 1), Customer("fr", 1), Customer("de", 2)
ITEMS = [
    (Item(ANN, "pen", 3), 10),
    (Item(BOB, "ink", 5, Colour.BLUE), 20),
    (Item(ANN, "ink", 4), 30),
    (Item(EVE, "cup", 9), 40),
    (Item(BOB, "pen", 2), 150),
    (Item(ANN, "cup", 8, Colour.BLUE), 160),
    (Item(EVE, "pen", 1), 170),
    (Item(ANN, "ink", 6), 320),
]


class _Prices(AggregateFunction):
    """Sums prices; the accumulator is a named tuple."""

    def create_accumulator(self) -> Visit:
        return Visit("", 0)

    def add(self, value: Item, accumulator: Visit) -> Visit:
        return Visit(accumulator.page + value.name[0], accumulator.count + value.price)

    def get_result(self, accumulator: Visit) -> tuple[str, int]:
        return tuple(accumulator)

    def merge(self, a: Visit, b: Visit) -> Visit:
        return Visit(a.page + b.page, a.count + b.count)


class _States(KeyedProcessFunction):
    """Has a state of every kind, with values of every kind, and timers of both."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.basket = runtime_context.get_state(ValueStateDescriptor("basket"))
        self.row = runtime_context.get_state(ValueStateDescriptor("row"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.reducing = runtime_context.get_reducing_state(ReducingStateDescriptor("reducing", max))
        self.aggregating = runtime_context.get_aggregating_state(AggregatingStateDescriptor("aggregating", _Prices()))
        lasting = ListStateDescriptor("lasting")
        lasting.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.lasting = runtime_context.get_list_state(lasting)

    def process_element(self, value: Item, ctx: Any) -> None:
        self.value.update((self.value.value() or 0) + value.price)
        known = self.basket.value()
        self.basket.update(Basket([*([] if known is None else known.items), value]))
        start = datetime(2024, 1, 1)  # noqa: DTZ001 - without a zone, as many programs have them
        row = Row(name=value.name, at=start + timedelta(seconds=ctx.timestamp()))
        row.set_row_kind(RowKind.UPDATE_AFTER)
        self.row.update(row)
        self.list.add((value.name, Decimal(value.price) / 4, value.colour))
        self.map.put(value.colour, {value.name: value.price, "seen": {ctx.timestamp()}})
        self.map.put(Visit(value.name, value.price), b"\x00")
        self.reducing.add(value.price)
        self.aggregating.add(value)
        self.lasting.add(value.name)
        ctx.timer_service().register_event_time_timer(500 + value.price)
        ctx.timer_service().register_processing_time_timer(3_600_000 + value.price)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        content = [self.value.value(), self.basket.value(), self.row.value(), self.row.value().get_row_kind()]
        content += [list(self.list.get()), sorted(self.map.items(), key=repr)]
        content += [self.reducing.get(), self.aggregating.get(), list(self.lasting.get())]
        yield f"states {timestamp} {ctx.get_current_key()} {content}"


class _Lists(MapFunction, CheckpointedFunction):
    """Has operator state: what it has seen, spread and in full."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.names = store.get_list_state(ListStateDescriptor("names"))
        self.all_names = store.get_union_list_state(ListStateDescriptor("all names"))

    def map(self, value: Item) -> str:
        self.names.add(value)
        self.all_names.add(Visit(value.name, value.price))
        return f"lists {[each.name for each in self.names.get()]} {len(list(self.all_names.get()))}"

    def snapshot_state(self, context: Any) -> None:
        return


RULES: Any = MapStateDescriptor("rules")


class _Rules(KeyedBroadcastProcessFunction):
    """Has broadcast state."""

    def process_element(self, value: Item, ctx: Any) -> Iterator[Any]:
        found = ctx.get_broadcast_state(RULES).get(value.colour)
        yield f"rules {value.name} {found}"

    def process_broadcast_element(self, value: Item, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value.colour, value)


class _Pair(ProcessJoinFunction):
    def process_element(self, left: Item, right: Item, ctx: Any) -> Iterator[Any]:
        yield f"interval {left.name} {right.name} {ctx.get_left_timestamp()}"


def states(env: StreamExecutionEnvironment) -> DataStream[Any]:
    """Every kind of keyed and operator state, and timers."""
    items = timed(env, ITEMS).uid("items")
    rules = timed(env, ITEMS[:2], name="rules").uid("rules")
    keyed = items.key_by(lambda item: item.customer)
    parts = [
        keyed.process(_States()).uid("states"),
        items.map(_Lists()).uid("lists"),
        keyed.connect(rules.broadcast(RULES)).process(_Rules()).uid("broadcast"),
    ]
    return parts[0].union(*parts[1:])


def windows(env: StreamExecutionEnvironment) -> DataStream[Any]:
    """Windows of all kinds, joins and a pattern."""
    items = timed(env, ITEMS).uid("items")
    others = timed(env, ITEMS[1:6], name="others").uid("others")
    keyed = items.key_by(lambda item: item.customer)
    tumbling = TumblingEventTimeWindows.of(Time.milliseconds(100))
    pattern = Pattern.begin("first").where(lambda item: item.price > 2).followed_by("ink")
    pattern = pattern.where(lambda item: item.name == "ink").within(Time.milliseconds(400))
    cheapest = keyed.window(tumbling).reduce(lambda a, b: min(a, b, key=lambda item: item.price))
    evicted = keyed.window(tumbling).evictor(CountEvictor.of(2)).apply(_names)
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(125))).aggregate(_Prices())
    counted = keyed.count_window(2).reduce(lambda a, b: a if a.price > b.price else b)
    joined = items.join(others).where(_customer).equal_to(_customer).window(tumbling).apply(_both)
    near = keyed.interval_join(others.key_by(_customer)).between(Time.milliseconds(-40), Time.milliseconds(150))
    parts = [
        cheapest.uid("tumbling").map(lambda item: f"cheapest {item}"),
        evicted.uid("evicting"),
        sessions.uid("sessions").map(lambda sums: f"session {sums}"),
        counted.uid("counting").map(lambda item: f"counted {item}"),
        joined.uid("window join"),
        near.process(_Pair()).uid("interval join"),
        CEP.pattern(keyed, pattern).select(_match).uid("pattern"),
    ]
    return parts[0].union(*parts[1:])


def _customer(item: Item) -> Customer:
    return item.customer


def _names(key: Any, window: Any, items: Any) -> list[str]:
    return [f"evicted {key} {window.start} {[item.name for item in items]}"]


def _both(left: Item, right: Item) -> str:
    return f"joined {left.name} {right.name}"


def _match(match: dict[str, list[Item]]) -> str:
    return f"match {[item.name for part in match.values() for item in part]}"


class _World:
    """What is outside of the job."""

    def __init__(self) -> None:
        self.open: dict[str, list[Any]] = {}
        self.seen: list[Any] = []
        self.written: set[tuple[int, int]] = set()


WORLD = _World()


class _Transactions(TwoPhaseCommitSinkFunction[Any, Any, None]):
    """Its transactions are visits: the name and the number of records."""

    def begin_transaction(self) -> Any:
        return {"records": [], "mark": Visit("open", 0)}

    def invoke(self, transaction: Any, value: Item, context: Any) -> None:
        transaction["records"].append(value.name)

    def pre_commit(self, transaction: Any) -> None:
        transaction["mark"] = Visit("prepared", len(transaction["records"]))

    def commit(self, transaction: Any) -> None:
        assert transaction["mark"].count == len(transaction["records"])
        WORLD.seen += [f"committed {name}" for name in transaction["records"]]

    def recover_and_commit(self, transaction: Any) -> None:
        WORLD.seen += [f"recovered {name}" for name in transaction["records"]]

    def abort(self, transaction: Any) -> None:
        return


class _Notes(CheckpointCommitter):
    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        WORLD.written.add((subtask, checkpoint_id))

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return (subtask, checkpoint_id) in WORLD.written

    def open(self) -> None:
        return

    def close(self) -> None:
        return


class _WriteAhead(GenericWriteAheadSink[Any]):
    def __init__(self) -> None:
        super().__init__(_Notes())

    def send_values(self, values: Any, checkpoint_id: int, timestamp: int) -> bool:
        WORLD.seen += [f"sent {item.name}" for item in values]
        return True


def sinks(env: StreamExecutionEnvironment) -> DataStream[Any]:
    """Sinks whose output waits for its checkpoint."""
    items = timed(env, ITEMS).uid("items")
    items.add_sink(_Transactions()).uid("transactions")
    items.add_sink(_WriteAhead()).uid("write-ahead")
    return items.map(lambda item: item.name).uid("names")


def exchange(env: StreamExecutionEnvironment) -> DataStream[Any]:
    """Two senders to each subtask of a keyed step."""
    items = timed(env, ITEMS[::2], ITEMS[1::2]).uid("items")
    return items.key_by(lambda item: item.customer).process(_States()).uid("states")


PROGRAMS: dict[str, Callable[[StreamExecutionEnvironment], DataStream[Any]]] = {
    "states": states,
    "windows": windows,
    "sinks": sinks,
    "exchange": exchange,
}
"""By name; each collects the stream that it returns."""
