"""The data and the questions of the Nexmark jobs: an auction house, as pure functions of a record's number.

Of fifty events, one is a person who registers, three are auctions that open and 46 are bids, as in Nexmark; half of the
bids go to a hot auction, three quarters come from a hot bidder. Ten events per millisecond, in the order of their
times. Only the standard library is imported: interpreters without penstock load this module, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from benchmarks.workload import EPOCH_MS, Event, mark

QUERIES = ("q0", "q1", "q2", "q3", "q5", "q7", "q8", "q11", "q12")
STATELESS = ("q0", "q1", "q2")
CLOCK_JOB = "q12"
"""Its windows follow the clock."""

PERSON, AUCTION, BID = 0, 1, 2
Happening = tuple[Any, ...]
"""A kind and a time, then of a person: id, name, city, state; of an auction: id, seller, category, first price; of a
bid: auction, bidder, price, channel, remark."""

HOT_MS, HOT_SLIDE_MS = 10_000, 2_000
"""Query 5 counts bids in windows of this size."""
HIGHEST_MS = 10_000
NEWCOMER_MS = 10_000
SESSION_MS = 10_000
PROCESSING_MS = 1_000
"""Windows of query 12; ten seconds in Nexmark, shorter here so that a measurement need not wait for the last one."""

_FIRST = 1_000
_ROUND = 50
_EVENTS_PER_MS = 10
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent")
_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_LOCAL_STATES = frozenset({"OR", "ID", "CA"})

_chance = random.Random(20_020_611)
_NAMES = tuple(f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES)
_PRICES = tuple(int(10 ** (_chance.random() * 6) * 100) for _ in range(1_024))
_DICE = tuple(_chance.getrandbits(46) for _ in range(8_192))
_REMARKS = tuple("".join(_chance.choices("abcdefghijklmnopqrstuvwxyz", k=40)) for _ in range(64))
_BIDS = tuple(
    (
        die & 7,
        (die >> 8) % 100,
        (die >> 16) % 1_000,
        _PRICES[die >> 26 & 1_023],
        _CHANNELS[die >> 36 & 3],
        _REMARKS[die >> 40],
    )
    for die in _DICE
)


class Auctions:
    """Turns a number into an event; sources own contiguous ranges of numbers and interleave in time."""

    def __init__(self, records: int, parallelism: int) -> None:
        """Takes how the numbers are cut into ranges (``records`` a multiple of it)."""
        self._share = max(1, records // parallelism)
        self._parallelism = parallelism

    def __call__(self, number: int) -> Happening:
        """Returns the event with this number."""
        source, index = divmod(number, self._share)
        position = index * self._parallelism + source
        turn, place = divmod(position, _ROUND)
        time = EPOCH_MS + position // _EVENTS_PER_MS
        if place > 3:
            # Tables of things drawn beforehand: making up a bid should cost little beside what is done with it.
            draw, auction_back, bidder_back, price, channel, remark = _BIDS[position & 8_191]
            auction = turn * 3 // 100 * 100 if draw & 1 else abs(turn * 3 - auction_back)
            bidder = turn // 100 * 100 + 1 if draw > 1 else abs(turn - bidder_back)
            return BID, time, _FIRST + auction, _FIRST + bidder, price, channel, remark
        dice = _DICE[position & 8_191]
        if place:
            seller = turn // 100 * 100 if dice & 6 else abs(turn - (dice >> 16) % 1_000)
            category, price = 10 + (dice >> 24) % 5, _PRICES[dice >> 32 & 1_023]
            return AUCTION, time, _FIRST + turn * 3 + place - 1, _FIRST + seller, category, price
        name, city = _NAMES[(dice >> 8) % len(_NAMES)], _CITIES[(dice >> 20) % len(_CITIES)]
        return PERSON, time, _FIRST + turn, name, city, _STATES[(dice >> 32) % len(_STATES)]


def is_bid(event: Happening) -> bool:
    """Keeps the bids."""
    return event[0] == BID


def passed(bid: Happening) -> tuple[Any, ...]:
    """Query 0: the bid as it is."""
    return bid[2], bid[3], bid[4], bid[1], bid[6]


def converted(bid: Happening) -> tuple[Any, ...]:
    """Query 1: the bid in another currency."""
    return bid[2], bid[3], bid[4] * 908 // 1_000, bid[1], bid[6]


def is_selected(event: Happening) -> bool:
    """Query 2: a bid on one of some auctions."""
    return event[0] == BID and event[2] % 123 == 0


def selected(bid: Happening) -> tuple[int, int]:
    """Query 2: what is asked of those bids."""
    return bid[2], bid[4]


def is_local_interest(event: Happening) -> bool:
    """Query 3: an auction of the tenth category, or a person from one of three states."""
    kind = event[0]
    return (kind == AUCTION and event[4] == 10) or (kind == PERSON and event[5] in _LOCAL_STATES)


def person_key(event: Happening) -> int:
    """Queries 3 and 8: the person, or the seller of the auction."""
    key: int = event[2] if event[0] == PERSON else event[3]
    return key


def suggestion(person: Happening, auction: Happening) -> tuple[Any, ...]:
    """Query 3: who sells what where."""
    return person[3], person[4], person[5], auction[2]


def auction_event(bid: Happening) -> Event:
    """Query 5: a bid as key, time, value, by auction."""
    return bid[2], bid[1], bid[4]


def bidder_event(bid: Happening) -> Event:
    """Queries 11 and 12: a bid as key, time, value, by bidder."""
    return bid[3], bid[1], bid[4]


def offer(bid: Happening) -> tuple[int, int, int, int]:
    """Query 7: a bid such that the highest of some is their maximum, the first one among equals."""
    return bid[4], -bid[2], -bid[1], -bid[3]


def is_newcomer(event: Happening) -> bool:
    """Query 8: everything but bids."""
    return event[0] != BID


def hot(auction: int, start: int, count: int) -> tuple[int, int, int]:
    """Query 5: a count such that the hottest auction of a window is the maximum, the lowest id among equals."""
    return count, -auction, start


def _digest_bid(result: tuple[Any, ...]) -> int:
    return int(result[2] + result[0] * 31 + result[1] * 17 + len(result[4]))


DIGESTS: dict[str, Any] = {
    "q0": _digest_bid,
    "q1": _digest_bid,
    "q2": lambda result: result[1] + result[0] * 31,
    "q3": lambda result: result[3] * 31 + len(result[0]) * 7 + len(result[1]) + sum(result[2].encode()),
    "q5": lambda result: mark(-result[1], result[2], result[0]),
    "q7": lambda result: mark(-result[1], -result[2] // HIGHEST_MS, result[0]) - result[3],
    "q8": lambda result: mark(*result),
    "q11": lambda result: mark(*result),
    "q12": lambda result: result[1] * (result[0] % 1_000 + 1),
}
"""What each result of a query adds to the check sum. That of query 12 does not depend on where windows ended."""


class Suggestions:
    """Query 3: keeps persons for ever, and auctions until their seller is known.

    The method of a keyed process function, the same for each system that has one.
    """

    _person: Any
    _waiting: Any

    def process_element(self, value: Happening, ctx: Any) -> Iterator[Any]:
        if value[0] == AUCTION:
            person = self._person.value()
            if person is None:
                self._waiting.add(value)
            else:
                yield suggestion(person, value)
        else:
            self._person.update(value)
            for auction in self._waiting.get() or ():
                yield suggestion(value, auction)
            self._waiting.clear()
