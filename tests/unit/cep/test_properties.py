"""The matcher finds what trying out all subsequences finds, however the input is cut and wherever it is restored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.graph.cep.compiler import compile_pattern
from penstock.runtime.cep.matcher import Matcher
from penstock.runtime.cep.runs import KeyRuns, events_of
from penstock.runtime.cep.stored_runs import RunCodec
from penstock.testing import OperatorHarness

STRICT, RELAXED, ANY = "next", "followed_by", "followed_by_any"
Place = tuple[str, frozenset[str], str]
"""One event of a match: its part, the letters that the part takes, and what may lie before it."""
Found = tuple[tuple[str, int], ...]


@dataclass
class Part:
    """A part as the test sees it; ``letters`` of a group is empty."""

    name: str
    link: str
    letters: frozenset[str] = frozenset()
    inside: tuple[Part, ...] = ()
    least: int = 1
    most: int | None = 1
    inner: str = RELAXED
    is_optional: bool = False

    def rounds(self, limit: int) -> Iterator[list[Place]]:
        """The events that the part may have, up to a number of rounds."""
        if self.is_optional:
            yield []
        for number in range(self.least, (limit if self.most is None else min(self.most, limit)) + 1):
            yield [place for turn in range(number) for place in self.once(self.link if turn == 0 else self.inner)]

    def once(self, link: str) -> list[Place]:
        if not self.inside:
            return [(self.name, self.letters, link)]
        places = [(part.name, part.letters, part.link) for part in self.inside]
        return [(places[0][0], places[0][1], link), *places[1:]]


def random_parts(rng: random.Random) -> list[Part]:
    parts: list[Part] = []
    for number in range(rng.randint(1, 4)):
        name, link = f"p{number}", rng.choice([STRICT, RELAXED, ANY])
        part = Part(name, link, random_letters(rng), inner=rng.choice([STRICT, RELAXED, ANY]))
        if rng.random() < 0.15:
            part.inside = (
                Part(f"{name}x", STRICT, random_letters(rng)),
                Part(f"{name}y", rng.choice([STRICT, RELAXED, ANY]), random_letters(rng)),
            )
            part.least = part.most = rng.choice([1, 2])
        else:
            part.least, part.most = rng.choice([(1, 1), (1, 1), (1, None), (2, None), (2, 2), (1, 3), (2, 3)])
            part.is_optional = rng.random() < 0.25
        parts.append(part)
    return parts


def random_letters(rng: random.Random) -> frozenset[str]:
    return frozenset(rng.sample("abc", rng.randint(1, 2)))


def pattern_of(parts: list[Part], window: int, skip: AfterMatchSkipStrategy | None = None) -> Pattern[Any]:
    pattern: Pattern[Any] | None = None
    for part in parts:
        what: Any = part.name
        if part.inside:
            first, second = part.inside
            what = say(say(Pattern.begin(first.name), first), None)
            what = say(getattr(what, second.link)(second.name), second)
        pattern = Pattern.begin(what, skip) if pattern is None else getattr(pattern, part.link)(what)
        if not part.inside:
            say(pattern, part)
        if part.most is None:
            pattern.times_or_more(part.least)
        elif part.most > 1:
            pattern.times(part.least, part.most)
        if part.most != 1 and part.inner != RELAXED:
            (pattern.consecutive if part.inner == STRICT else pattern.allow_combinations)()
        if part.is_optional:
            pattern.optional()
    assert pattern is not None
    return pattern.within(window)


def say(pattern: Pattern[Any], part: Part | None) -> Pattern[Any]:
    if part is not None:
        letters = part.letters
        pattern.where(lambda event: event[0] in letters)
    return pattern


def brute_force(parts: list[Part], letters: str, window: int) -> list[Found]:
    """All subsequences, each checked against the rules of contiguity."""
    found = set()
    for places in expansions(parts, len(letters)):
        if not places:
            continue
        for chosen in combinations(range(len(letters)), len(places)):
            if is_match(places, chosen, letters) and (window == 0 or chosen[-1] - chosen[0] < window):
                found.add(tuple((place[0], index) for place, index in zip(places, chosen, strict=True)))
    return sorted(found)


def expansions(parts: list[Part], limit: int) -> Iterator[list[Place]]:
    if not parts:
        yield []
        return
    for first in parts[0].rounds(limit):
        for rest in expansions(parts[1:], limit - len(first)):
            if len(first) + len(rest) <= limit:
                yield first + rest


def is_match(places: list[Place], chosen: tuple[int, ...], letters: str) -> bool:
    for number, ((_, taken, link), index) in enumerate(zip(places, chosen, strict=True)):
        if letters[index] not in taken:
            return False
        between = range(chosen[number - 1] + 1, index) if number else range(0)
        if link == STRICT and between:
            return False
        if link == RELAXED and any(letters[other] in taken for other in between):
            return False
    return True


def matched(pattern: Pattern[Any], letters: str, *, restores: bool = False) -> list[Found]:
    automaton = compile_pattern(pattern)
    matcher, codec = Matcher(automaton, lambda: 0), RunCodec(automaton)
    kept, found = KeyRuns(), []
    for index, letter in enumerate(letters):
        if restores:
            kept = codec.decode(codec.encode(kept))
        for cell in [*matcher.advance(kept, index)[0], *matcher.process(kept, (letter, index), index)]:
            found.append(as_found(events_of(cell)))
    return found


def as_found(match: dict[str, list[Any]]) -> Found:
    events = sorted((event[1], part) for part, taken in match.items() for event in taken)
    return tuple((part, index) for index, part in events)


@pytest.mark.parametrize("seed", range(60))
def test_the_matcher_equals_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        parts, window = random_parts(rng), rng.choice([0, 0, 3, 5])
        letters = "".join(rng.choice("abc") for _ in range(rng.randint(1, 7)))
        assert sorted(matched(pattern_of(parts, window), letters)) == brute_force(parts, letters, window), (
            parts,
            letters,
            window,
        )


SKIPS = [
    AfterMatchSkipStrategy.no_skip(),
    AfterMatchSkipStrategy.skip_to_next(),
    AfterMatchSkipStrategy.skip_past_last_event(),
]


@pytest.mark.parametrize("skip", SKIPS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_storing_and_restoring_between_events_changes_nothing(seed: int, skip: AfterMatchSkipStrategy) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        parts, window = random_parts(rng), rng.choice([0, 4])
        letters = "".join(rng.choice("abc") for _ in range(8))
        pattern = pattern_of(parts, window, skip)
        assert matched(pattern, letters, restores=True) == matched(pattern, letters)


@pytest.mark.parametrize("skip", SKIPS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_the_cut_into_runs_and_the_order_of_arrival_change_nothing(seed: int, skip: AfterMatchSkipStrategy) -> None:
    rng = random.Random(seed)
    pattern = pattern_of(random_parts(rng), 4, skip)
    events = [((rng.choice("abc"), time), time) for time in range(12)]
    expected = outputs(pattern, [[event] for event in events])
    for _ in range(5):
        shuffled = sorted(events, key=lambda event: event[1] + rng.randint(0, 3))
        runs: list[list[Any]] = [[]]
        for event in shuffled:
            if rng.random() < 0.5:
                runs.append([])
            runs[-1].append(event)
        assert outputs(pattern, runs) == expected


def outputs(pattern: Pattern[Any], runs: list[list[Any]]) -> list[Any]:
    harness = OperatorHarness.for_pattern(pattern, lambda match: as_found(match), key=lambda event: event[1] % 2)
    watermark = 0
    for run in runs:
        harness.push_run(run)
        if run:
            watermark = max(watermark, run[-1][1] - 4)
            harness.push_watermark(watermark)
    harness.end()
    return sorted(harness.values)
