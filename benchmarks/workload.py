"""The data of every job, as pure functions of a record's number, so that all systems see the same records.

Every job starts from the numbers 0..N-1, cut into one contiguous range per source. Only the standard
library is imported: this module is loaded by interpreters that have neither penstock nor its dependencies.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

COUNT_KEYS = {"count-1k": 1_000, "count-1m": 1_000_000}
EXCHANGES = {"latency-1": 1, "latency-2": 2}

WORDS_PER_LINE = 10
"""A line of the generated text; the word count is sized in words, its source counts lines."""

WINDOW_KEYS = 1_000
TUMBLING_MS = 10_000
SLIDING_MS = 60_000
SLIDE_MS = 5_000
SESSION_GAP_MS = 1_000
OUT_OF_ORDER_MS = 200
"""Events are up to this much behind the newest one; watermarks allow for it, so nothing is ever late."""

LATENCY_RATE = 1_000
"""Records per second of the latency jobs, all sources together."""

LATENCY_KEYS = 1_000

EPOCH_MS = 1_700_000_000_000
_EVENTS_PER_MS = 10
_SESSION_KEYS_AT_ONCE = 100
_SESSION_BURST = 2_000

Event = tuple[int, int, int]
"""Key, event time in milliseconds, value."""


def ranges(records: int, parallelism: int) -> list[range]:
    """Cuts the numbers 0..records-1 into one contiguous range per source."""
    bounds = [records * part // parallelism for part in range(parallelism + 1)]
    return [range(low, high) for low, high in pairwise(bounds)]


@cache
def text(lines: int = 1_000, vocabulary: int = 5_000) -> tuple[str, ...]:
    """Generates the text of the word count: seeded, word frequencies falling with the rank as in natural language."""
    chance = random.Random(20_240_229)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = sorted({"".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(vocabulary)})
    chance.shuffle(words)
    weights = [1.0 / (rank + 1) for rank in range(len(words))]
    return tuple(" ".join(chance.choices(words, weights, k=WORDS_PER_LINE)) for _ in range(lines))


class Events:
    """Turns a number into an event of a window job.

    The sources own contiguous ranges of numbers; the event's position in time interleaves them, so that event
    time advances alike on all of them, as it would with partitions of one topic.
    """

    def __init__(self, job: str, records: int, parallelism: int) -> None:
        """Takes the job's name and how its numbers are cut into ranges (``records`` a multiple of it)."""
        self._share = max(1, records // parallelism)
        self._parallelism = parallelism
        self._shape = _session_event if job == "sessions" else _steady_event

    def __call__(self, number: int) -> Event:
        """Returns the event with this number."""
        source, position = divmod(number, self._share)
        return self._shape(position * self._parallelism + source)


def _steady_event(position: int) -> Event:
    """Ten events per millisecond, every key equally often and from every source."""
    late = position * 31 % OUT_OF_ORDER_MS
    return (position * 7_919 >> 4) % WINDOW_KEYS, EPOCH_MS + position // _EVENTS_PER_MS - late, position % 100


def _session_event(position: int) -> Event:
    """One event per millisecond, from a hundred keys that are active for two seconds and then fall silent."""
    burst, inside = divmod(position, _SESSION_BURST)
    key = (burst * _SESSION_KEYS_AT_ONCE + (inside * 7_919 >> 4) % _SESSION_KEYS_AT_ONCE) % WINDOW_KEYS
    late = position * 31 % OUT_OF_ORDER_MS
    return key, EPOCH_MS + position - late, position % 100


def mark(key: int, start: int, value: int) -> int:
    """Digests one window result for the check sum: sensitive to the key, the window and the value."""
    return value * (key + 1) + start % 7_919


CHAIN_JOB = "chain"
TIMER_JOB = "timers"
TIMER_MS = 1_000
"""How long after a record its timer fires."""

Reading = tuple[int, int]
"""A sensor and what it measured."""


def reading(number: int) -> Reading:
    """Step 1 of the stateless chain: makes a record of a number."""
    return number * 7_919 % 1_000, number % 977


def is_valid(record: Reading) -> bool:
    """Step 2: drops every tenth value."""
    return record[1] % 10 != 0


def converted(record: Reading) -> Reading:
    """Step 3: converts the value."""
    return record[0], (record[1] - 32) * 5 // 9


def is_high(record: Reading) -> bool:
    """Step 4: drops what is not above zero."""
    return record[1] > 0


def weighted(record: Reading) -> Reading:
    """Step 5: weighs the value by its sensor."""
    return record[0], record[1] * (record[0] + 1)
