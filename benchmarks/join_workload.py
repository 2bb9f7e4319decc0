"""The data of the jobs with two streams, as pure functions of a record's number.

Both streams of a join are generated alike, each from the numbers 0..N/2-1, but no record of one equals a record of the
other. Only the standard library is imported: interpreters without penstock load this module, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.workload import EPOCH_MS, OUT_OF_ORDER_MS, WINDOW_KEYS, Event

JOINS = ("interval-join", "window-join")
RULES_JOB = "broadcast-rules"

JOIN_KEYS = 5_000
"""Keys of a join: each occurs about twice per second on each side, so most records find one partner or none."""

INTERVAL_MS = 200
"""A pair of the interval join is at most this far apart, in either direction."""

JOIN_WINDOW_MS = 1_000

RULES = WINDOW_KEYS
"""As many rules as keys, one for each: every event finds exactly one rule."""

LEFT, RIGHT = 0, 1
_EVENTS_PER_MS = 10
_SCATTER = (2_654_435_761, 2_246_822_519)


def per_stream(records: int) -> int:
    """Returns how many of a join's records each of its two streams has."""
    return records // 2


class JoinEvents:
    """Turns a number into an event of one side of a join.

    As in the window jobs, the sources of a stream own contiguous ranges of numbers and interleave in time.
    """

    def __init__(self, side: int, records: int, parallelism: int) -> None:
        """Takes the side, the records of both sides together, and into how many ranges each side is cut."""
        self._share = max(1, per_stream(records) // parallelism)
        self._parallelism = parallelism
        self._side = side
        self._scatter = _SCATTER[side]

    def __call__(self, number: int) -> Event:
        """Returns the event with this number: ten per millisecond, keys scattered as if by chance."""
        source, index = divmod(number, self._share)
        position = index * self._parallelism + source
        scattered = (position + 1) * self._scatter & 0xFFFF_FFFF
        late = scattered % OUT_OF_ORDER_MS
        return (scattered >> 12) % JOIN_KEYS, EPOCH_MS + position // _EVENTS_PER_MS - late, position % 100


def pair(left: Event, right: Event) -> Event:
    """Makes the result of a join of two events; right for both kinds of join."""
    return left[0], left[1], left[2] * 100 + right[2]


def rule(number: int) -> tuple[int, int]:
    """Returns a rule: the key it is for, and the factor of that key."""
    return number, number * 37 % 101 + 1


def enrich(event: Event, factor: int) -> Event:
    """Applies its rule to an event."""
    return event[0], event[1], event[2] * factor


class Enrichment:
    """Applies to each event the rule of its key; events that come before the last rule wait for it.

    The methods of a broadcast process function, the same for each system that has one.
    """

    rules: Any
    """Describes the broadcast state."""

    def open(self, runtime_context: Any) -> None:
        self._missing = RULES
        self._waiting: list[Event] = []

    def process_element(self, value: Event, ctx: Any) -> Iterator[Event]:
        if self._missing:
            self._waiting.append(value)
        else:
            yield enrich(value, ctx.get_broadcast_state(self.rules).get(value[0]))

    def process_broadcast_element(self, value: tuple[int, int], ctx: Any) -> Iterator[Event]:
        rules = ctx.get_broadcast_state(self.rules)
        rules.put(*value)
        self._missing -= 1
        if not self._missing:
            for event in self._waiting:
                yield enrich(event, rules.get(event[0]))
            self._waiting.clear()
