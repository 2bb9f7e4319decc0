"""Reads the worked cases of patterns: a pattern, what goes in, what comes out, each in one line.

``name[c]`` is a part whose events have the name c; in the brackets ``~c`` means contains, ``c...`` begins with, and
there may be comparisons of ``price``, ``volume``, ``count(part)`` and ``sum(part.price)``. Arrows: ``->`` next, ``=>``
followed_by, ``~>`` followed_by_any, ``->!`` not_next, ``=>!`` not_followed_by. ``+`` is one_or_more, ``?`` optional.

An event ``a1@3`` has the id a1, the name a and the timestamp 3; in brackets stand name, price, ``v`` and a volume,
which makes it a SubEvent, ``k`` and a key. ``W5`` is a watermark; without any, one follows each event, just below its
timestamp.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern, WithinType


@dataclass(frozen=True)
class Event:
    """An event of the cases."""

    id: str
    name: str
    price: float = 0.0
    key: str = ""


@dataclass(frozen=True)
class SubEvent(Event):
    """An event with a volume."""

    volume: float = 0.0


@dataclass(frozen=True)
class Case:
    """One worked case."""

    number: str
    pattern: str
    input: str
    matches: list[str]
    timed_out: list[str] | None = None
    late: list[str] = field(default_factory=list)
    is_ordered: bool = False

    @property
    def is_keyed(self) -> bool:
        return "keyed" in self.pattern

    @property
    def is_processing_time(self) -> bool:
        return "processing time" in self.pattern

    @property
    def has_comparator(self) -> bool:
        return "comparator" in self.pattern

    def build(self) -> Pattern[Any]:
        """The pattern, built anew."""
        return parse_pattern(self.pattern.partition(" -- ")[0])

    def steps(self) -> list[tuple[Event | None, int | None]]:
        """Events with their timestamps, and watermarks as ``(None, time)``."""
        found: list[tuple[Event | None, int | None]] = []
        has_watermarks = re.search(r"(^| )W-?\d", self.input) is not None
        for word in self.input.split():
            if mark := re.fullmatch(r"W(-?\d+)", word):
                found.append((None, int(mark[1])))
                continue
            event, timestamp = parse_event(word)
            found.append((event, timestamp))
            if not has_watermarks and timestamp is not None:
                found.append((None, timestamp - 1))
        return found


def load_cases() -> list[Case]:
    """All cases of the file beside this one."""
    lines = (Path(__file__).parent / "cases.txt").read_text(encoding="utf-8").splitlines()
    return [_case(*line.split(" | ")) for line in lines if not line.startswith("#")]


def _case(number: str, pattern: str, text: str, result: str) -> Case:
    is_ordered = result.startswith("in this order: ")
    result = result.removeprefix("in this order: ")
    result, _, late = result.partition(" / late: ")
    result, has_timeouts, timed_out = result.partition(" / timed out: ")
    return Case(
        number,
        pattern,
        text,
        _listed(result),
        _listed(timed_out) if has_timeouts else None,
        late.split(),
        is_ordered,
    )


def _listed(text: str) -> list[str]:
    return [] if text == "none" else text.split("; ")


def parse_event(word: str) -> tuple[Event, int | None]:
    """An event and its timestamp."""
    text, _, time = word.partition("@")
    matched = re.fullmatch(r"([^(]+)(?:\((.*)\))?", text)
    assert matched, word
    name, price, key, volume = matched[1].rstrip("0123456789"), 0.0, "", None
    for item in (matched[2] or "").split(",") if matched[2] else []:
        if re.fullmatch(r"k\d+", item):
            key = item
        elif re.fullmatch(r"v\d+", item):
            volume = float(item[1:])
        elif re.fullmatch(r"\d+", item):
            price = float(item)
        else:
            name = item
    made = Event(matched[1], name, price, key) if volume is None else SubEvent(matched[1], name, price, key, volume)
    return made, int(time) if time else None


_ARROWS = {
    "->!": "not_next", "=>!": "not_followed_by", "->": "next", "=>": "followed_by", "~>": "followed_by_any",
}  # fmt: skip
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(->!|=>!|->|=>|~>|\(|\)|[^\[\]()<>{}.+?=~-][^\[\]()<>{}.+?=~]*?(?=\s*(?:[\[<{.+?)]|->|=>|~>|$)))"
)
_SUFFIX = re.compile(
    r"\s*(?:(?P<plus>\+)|(?P<optional>\?)|<(?P<sub>\w+)>|\{(?P<skip>[^}]*)\}|(?P<or>or)?\[(?P<where>[^\]]*)\]"
    r"|\.(?P<call>\w+)(?:\((?P<arguments>[^)]*)\)|\[(?P<until>[^\]]*)\])?)"
)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def token(self) -> str | None:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[1].strip()

    def chain(self) -> Pattern[Any]:
        pattern: Pattern[Any] | None = None
        call = "begin"
        while True:
            pattern = self.part(pattern, call)
            at = self.at
            token = self.token()
            if token not in _ARROWS:
                self.at = at
                return pattern
            call = _ARROWS[token]

    def part(self, before: Pattern[Any] | None, call: str) -> Pattern[Any]:
        token = self.token()
        assert token, self.text[self.at :]
        what: Any = token
        if token == "(":
            what = self.chain()
            assert self.token() == ")"
        suffixes = list(self.suffixes())
        skip = next((skip_strategy(one["skip"]) for one in suffixes if one["skip"]), None)
        part = Pattern.begin(what, skip) if before is None else getattr(before, call)(what)
        for one in suffixes:
            apply(part, one)
        return part

    def suffixes(self) -> Iterator[dict[str, str | None]]:
        while found := _SUFFIX.match(self.text, self.at):
            self.at = found.end()
            yield found.groupdict()


def apply(part: Pattern[Any], one: dict[str, str | None]) -> None:
    """Say of a part what a suffix says."""
    if one["plus"]:
        part.one_or_more()
    elif one["optional"]:
        part.optional()
    elif one["sub"]:
        part.subtype(SubEvent)
    elif one["where"]:
        (part.or_ if one["or"] else part.where)(condition(one["where"]))
    elif one["call"] == "until":
        part.until(condition(one["until"] or ""))
    elif one["call"] == "within":
        length, _, kind = (one["arguments"] or "").partition(",")
        part.within(int(length), WithinType.PREVIOUS_AND_CURRENT if kind else WithinType.FIRST_AND_LAST)
    elif one["call"]:
        name = {"comb": "allow_combinations", "consec": "consecutive"}.get(one["call"], one["call"])
        words = [word.strip() for word in (one["arguments"] or "").split(",") if word.strip()]
        window = [int(word[2:]) for word in words if word.startswith("w=")]
        numbers = [int(word) for word in words if not word.startswith("w=")]
        getattr(part, name)(*numbers, **({"window_time": window[0]} if window else {}))


def skip_strategy(text: str) -> AfterMatchSkipStrategy:
    """A skip strategy as it stands in braces."""
    name, _, part = text.partition(" ")
    found: AfterMatchSkipStrategy = getattr(AfterMatchSkipStrategy, name)(*([part] if part else []))
    return found


def condition(text: str) -> Callable[..., bool]:
    """A condition as it stands in brackets; it is iterative only if it looks at other events."""
    for word, combine in ((" or ", any), (" and ", all)):
        if word in text:
            terms = [condition(term) for term in text.split(word)]
            if "sum(" in text or "count(" in text:
                return lambda event, ctx: combine(ask(term, event, ctx) for term in terms)
            return lambda event: combine(term(event) for term in terms)
    if found := re.fullmatch(r"(sum|count)\((\w+)(?:\.price)?\)( \+ own)? (<=|<|==) ([\d.]+)", text):
        kind, part, own, sign, bound = found.groups()

        def compare(event: Event, ctx: Any) -> bool:
            events = list(ctx.get_events_for_pattern(part))
            total = len(events) if kind == "count" else sum(each.price for each in events)
            return _COMPARE[sign](total + (event.price if own else 0), float(bound))

        return compare
    if found := re.fullmatch(r"(price|volume) (<=|>=|<|>|==) ([\d.]+)", text):
        name, sign, bound = found.groups()
        return lambda event: _COMPARE[sign](getattr(event, name), float(bound))
    if text.startswith("~"):
        return lambda event: text[1:] in event.name
    if text.endswith("..."):
        return lambda event: event.name.startswith(text[:-3])
    return lambda event: event.name == text


def ask(term: Callable[..., bool], event: Event, ctx: Any) -> bool:
    """The answer of a condition of either kind."""
    return term(event, ctx) if term.__code__.co_argcount == 2 else term(event)


def parse_pattern(text: str) -> Pattern[Any]:
    """A pattern as it stands in a case."""
    reader = _Reader(text)
    pattern = reader.chain()
    assert not text[reader.at :].strip(), f"{text[reader.at :]!r} is left of {text!r}"
    return pattern
