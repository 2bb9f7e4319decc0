"""Enriches what users do with who they are; the list of users changes while the job runs.

python examples/broadcast_rules.py

The users are broadcast: every subtask keeps all of them in broadcast state, and each new list replaces the old one from
its time on. Events wait for the watermark, so that each meets the list that was valid at its own time, whichever of the
two streams is faster. An event before the first list, or of a user who is not on the list, is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock import (
    KeyedBroadcastProcessFunction,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)

Users = dict[str, tuple[str, int]]
Event = tuple[str, str, int]

USERS: MapStateDescriptor[int, Users] = MapStateDescriptor("users by the time from which they are valid")

# the time from which a list is valid, the list
LISTS: list[tuple[Users, int]] = [
    ({"user_1": ("张三", 10), "user_2": ("李四", 20), "user_3": ("王五", 30), "user_4": ("赵六", 40)}, 1_000),
    ({"user_3": ("王五", 31)}, 5_000),
]
# user, what happened, when
EVENTS: list[Event] = [
    ("user_1", "login", 500),
    ("user_3", "browse", 2_000),
    ("user_2", "click", 3_000),
    ("user_3", "browse", 6_000),
    ("user_2", "click", 7_000),
]


class Enrich(KeyedBroadcastProcessFunction[str, Event, tuple[Users, int], str]):
    """Looks each event's user up in the list that was valid when it happened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: the events of a user that wait for the watermark."""
        self.waiting: ListState[Event] = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def process_element(self, value: Event, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        """Let the event wait until its time has come."""
        self.waiting.add(value)
        ctx.timer_service().register_event_time_timer(value[2])

    def process_broadcast_element(self, value: tuple[Users, int], ctx: KeyedBroadcastProcessFunction.Context) -> None:
        """Keep a new list, and forget lists that no event can ask for any more."""
        lists = ctx.get_broadcast_state(USERS)
        users, valid_from = value
        lists.put(valid_from, users)
        past = sorted(start for start in lists if start <= ctx.current_watermark())
        for outdated in past[:-1]:
            lists.remove(outdated)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[str]:
        """Enrich the events of this moment."""
        lists = ctx.get_broadcast_state(USERS)
        valid = [start for start in lists if start <= timestamp]
        users: Any = lists.get(max(valid)) if valid else {}
        events = list(self.waiting.get())
        for user, event, at in events:
            if at == timestamp and user in users:
                name, age = users[user]
                yield f"{user} {event}: {name}, {age}"
        self.waiting.update(event for event in events if event[2] > timestamp)


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[-1])
    lists = env.from_collection(LISTS).assign_timestamps_and_watermarks(strategy).broadcast(USERS)
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    events.key_by(lambda event: event[0]).connect(lists).process(Enrich()).print()
    env.execute("broadcast rules")


if __name__ == "__main__":
    main()
