"""Patterns as text: ``small next big within 10 min``.

::

    pattern  = chain [skip]
    chain    = part {link part}
    link     = "next" | "followed by" | "followed by any" | "not next" | "not followed by"
    part     = (name | "(" chain ")") {said}
    said     = "one or more" | "times" number ["to" number | "or more"] | "optional" | "greedy" | "consecutive"
             | "combinations" | "where" name | "or" name | "until" name | "gap" time | "within" time ["of previous"]
    skip     = "no skip" | "skip to next" | "skip past last" | "skip to first" name | "skip to last" name
    time     = number unit

Words may be joined by underscores, a name may stand in quotes. The condition of a part is the one of its name.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.errors import MalformedPatternException, ProgramError
from penstock.vocabulary.cep.pattern import Pattern
from penstock.vocabulary.cep.quantifier import WithinType
from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy
from penstock.vocabulary.program_checks import location
from penstock.vocabulary.time.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["parse_pattern"]

_TOKEN = re.compile(r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<number>\d+)|(?P<word>[^\W\d][\w$*-]*)|(?P<sign>[()]))""")
_LINKS = ("followed by any", "followed by", "next", "not followed by", "not next")
_SKIPS = ("no skip", "skip to next", "skip past last event", "skip past last", "skip to first", "skip to last")
_SAID = ("one or more", "times", "optional", "greedy", "consecutive", "allow combinations", "combinations", "where")
_MORE_SAID = ("or", "until", "gap", "within")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def parse_pattern(
    text: str, conditions: Mapping[str, Any], skip_strategy: AfterMatchSkipStrategy | None = None
) -> Pattern[Any]:
    """Return the pattern that a text describes."""
    if not isinstance(text, str):
        message = f"Pattern.parse() needs a text, not {text!r:.80}."
        raise ProgramError(message, location())
    return _Parser(text, conditions).pattern(skip_strategy)


class _Parser:
    def __init__(self, text: str, conditions: Mapping[str, Any]) -> None:
        self._text = text
        self._conditions = conditions
        self._is_refused = False
        self._at = 0
        self._tokens = list(self._split())

    def _split(self) -> Iterable[_Token]:
        at = 0
        while at < len(self._text.rstrip()):
            found = _TOKEN.match(self._text, at)
            if found is None:
                start = at + len(self._text[at:]) - len(self._text[at:].lstrip())
                self._refuse(start, f"{self._text[start]!r} means nothing here")
            kind = str(found.lastgroup)
            start, at = found.start(kind), found.end()
            yield _Token(kind, found[kind].strip("\"'") if kind == "quoted" else found[kind], start)

    def pattern(self, skip_strategy: AfterMatchSkipStrategy | None) -> Pattern[Any]:
        written = self._skip_at_end()
        if written is not None and skip_strategy is not None:
            self._refuse(len(self._text), "the skip strategy is said twice: in the text and as an argument")
        pattern = self._chain(written or skip_strategy)
        if self._at < len(self._tokens):
            self._expected("the end, a link such as 'next', or what is said of a part", [*_LINKS, *_SAID, *_MORE_SAID])
        return pattern

    def _skip_at_end(self) -> AfterMatchSkipStrategy | None:
        """Take the skip strategy from the end: the first part needs it."""
        for start in range(len(self._tokens)):
            self._at = start
            phrase = self._phrase(_SKIPS)
            if phrase is None:
                continue
            ways: dict[str, Callable[[], AfterMatchSkipStrategy]] = {
                "no skip": AfterMatchSkipStrategy.no_skip,
                "skip to next": AfterMatchSkipStrategy.skip_to_next,
                "skip past last": AfterMatchSkipStrategy.skip_past_last_event,
                "skip past last event": AfterMatchSkipStrategy.skip_past_last_event,
                "skip to first": lambda: AfterMatchSkipStrategy.skip_to_first(self._name("the part to skip to")),
                "skip to last": lambda: AfterMatchSkipStrategy.skip_to_last(self._name("the part to skip to")),
            }
            strategy = ways[phrase]()
            if self._at < len(self._tokens):
                self._refuse(self._tokens[self._at].position, f"nothing may follow {phrase!r}")
            del self._tokens[start:]
            self._at = 0
            return strategy
        self._at = 0
        return None

    def _chain(self, skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern[Any]:
        pattern = self._part(None, "begin", skip_strategy)
        while (link := self._phrase(_LINKS)) is not None:
            pattern = self._part(pattern, link.replace(" ", "_"), None)
        return pattern

    def _part(
        self, before: Pattern[Any] | None, call: str, skip_strategy: AfterMatchSkipStrategy | None
    ) -> Pattern[Any]:
        start = self._position()
        what: Any
        if self._sign("("):
            what = self._chain()
            if not self._sign(")"):
                self._expected("')'", [])
        else:
            what = self._name("the name of a part")
        made: Pattern[Any] = self._checked(start, lambda: self._made(before, call, what, skip_strategy, start))
        return made

    def _made(
        self,
        before: Pattern[Any] | None,
        call: str,
        what: Any,
        skip_strategy: AfterMatchSkipStrategy | None,
        start: int,
    ) -> Pattern[Any]:
        part: Pattern[Any] = Pattern.begin(what, skip_strategy) if before is None else getattr(before, call)(what)
        if isinstance(what, str):
            condition = self._condition(what, start)
            if condition is not None:
                part.where(condition)
        while (said := self._phrase((*_SAID, *_MORE_SAID))) is not None:
            self._checked(start, partial(self._say, part, said))
        return part

    def _say(self, part: Pattern[Any], said: str) -> None:
        if said in ("where", "or", "until"):
            start = self._position()
            condition = self._condition(self._name("the name of a condition"), start)
            {"where": part.where, "or": part.or_, "until": part.until}[said](condition)
        elif said == "within":
            length = self._time()
            is_gap = self._phrase(("of previous",)) is not None
            part.within(length, WithinType.PREVIOUS_AND_CURRENT if is_gap else WithinType.FIRST_AND_LAST)
        elif said == "times":
            first = self._number()
            if self._phrase(("or more",)):
                part.times_or_more(first, self._gap())
            else:
                last = self._number() if self._phrase(("to",)) else None
                part.times(first, last, self._gap())
        elif said == "one or more":
            part.one_or_more(self._gap())
        elif said == "gap":
            self._refuse(self._tokens[self._at - 1].position, "'gap' comes right after how often the part occurs")
        else:
            getattr(part, "allow_combinations" if "combinations" in said else said)()

    def _gap(self) -> int | None:
        return self._time() if self._phrase(("gap",)) else None

    def _condition(self, name: str, start: int) -> Any:
        if name not in self._conditions:
            close = difflib.get_close_matches(name, [str(known) for known in self._conditions], 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            known = ", ".join(sorted(map(str, self._conditions))) or "none"
            self._refuse(start, f"there is no condition {name!r}.{hint} Known: {known}; None takes every event")
        return self._conditions[name]

    def _name(self, what: str) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.kind not in ("word", "quoted"):
            self._expected(what, [])
        self._at += 1
        return token.text

    def _number(self) -> int:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != "number":
            self._expected("a number", [])
        self._at += 1
        return int(self._tokens[self._at - 1].text)

    def _time(self) -> int:
        start = self._position()
        number = self._number()
        unit = self._tokens[self._at].text if self._at < len(self._tokens) else ""
        try:
            length = parse_duration(f"{number} {unit}")
        except ValueError:
            length = -1
        if not unit or length < 0:
            self._refuse(start, f"'{number} {unit}'".replace(" '", "'") + " is not a length of time, such as '10 min'")
        self._at += 1
        return length

    def _phrase(self, phrases: Iterable[str]) -> str | None:
        """Take the longest of some phrases, if one of them comes next."""
        for phrase in sorted(phrases, key=len, reverse=True):
            for words in (phrase.split(), [phrase.replace(" ", "_")]):
                following = self._tokens[self._at : self._at + len(words)]
                if [token.text for token in following if token.kind == "word"] == words:
                    self._at += len(words)
                    return phrase
        return None

    def _sign(self, sign: str) -> bool:
        is_next = self._at < len(self._tokens) and self._tokens[self._at] == _Token("sign", sign, self._position())
        self._at += is_next
        return is_next

    def _position(self) -> int:
        return self._tokens[self._at].position if self._at < len(self._tokens) else len(self._text)

    def _checked(self, start: int, make: Any) -> Any:
        """Do what a phrase says; what the pattern refuses is refused with the place in the text."""
        try:
            return make()
        except ProgramError as error:
            if self._is_refused:
                raise
            self._refuse(start, str(error).split("\n")[0].rstrip("."))

    def _expected(self, what: str, choices: Iterable[str]) -> NoReturn:
        found = self._tokens[self._at].text if self._at < len(self._tokens) else None
        close = [] if found is None else difflib.get_close_matches(found, list(choices), 1)
        hint = f". Did you mean {close[0]!r}?" if close else ""
        self._refuse(self._position(), f"expected {what}, found {'the end' if found is None else repr(found)}{hint}")

    def _refuse(self, position: int, problem: str) -> NoReturn:
        message = f"The pattern cannot be read: {problem.rstrip('.?') + ('?' if problem.endswith('?') else '.')}\n"
        message += f"    {self._text}\n    {' ' * position}^ position {position + 1}"
        self._is_refused = True
        raise MalformedPatternException(message, location())
