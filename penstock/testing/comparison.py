"""Compares expected with actual records and shows them side by side, in the notation of transcripts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Actual", "Expected", "differ", "notation", "side_by_side"]

_WIDE = 1 << 30
_NOTHING = "(nothing)"


@dataclass(frozen=True)
class Expected:
    """A record that should come out; its timestamp is compared only where the transcript gives one."""

    value: str
    timestamp: int | None = None

    def __str__(self) -> str:
        return self.value if self.timestamp is None else f"{self.value} @ {self.timestamp}"

    def fits(self, actual: Actual) -> bool:
        """Tell whether a record is the one that should come out."""
        return self.value == actual.value and self.timestamp in (None, actual.timestamp)


@dataclass(frozen=True)
class Actual:
    """A record that came out."""

    value: str
    timestamp: int | None = None

    def shown(self, *, has_timestamp: bool) -> str:
        """Return the record as text, with its timestamp if that matters."""
        return f"{self.value} @ {self.timestamp}" if has_timestamp else self.value


def notation(value: Any) -> str:
    """Return a value as one line of YAML, in which a transcript could expect it.

    Tuples, lists and rows look the same; 1, 1.0, true and '1' do not.

    Example:
        >>> notation(("sensor_1", 1.0, [None, "1"]))
        "[sensor_1, 1.0, [null, '1']]"
    """
    text: str = yaml.safe_dump(_plain(value), default_flow_style=True, allow_unicode=True, width=_WIDE)
    return text.removesuffix("...\n").rstrip("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return [_plain(field) for field in tuple(value)]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item) for item in value), key=repr)
    if isinstance(value, dict):
        return {key if isinstance(key, (str, int)) else repr(key): _plain(item) for key, item in value.items()}
    return value if value is None or type(value) in (str, int, float, bool) else repr(value)


def differ(expected: Sequence[Expected], actual: Sequence[Actual], *, is_ordered: bool = True) -> bool:
    """Tell whether something else came out than should have."""
    if len(expected) != len(actual):
        return True
    if is_ordered:
        return not all(one.fits(other) for one, other in zip(expected, actual, strict=True))
    left = list(actual)
    # Those that ask for a timestamp choose first: the others take any.
    for one in sorted(expected, key=lambda wanted: wanted.timestamp is None):
        found = next((other for other in left if one.fits(other)), None)
        if found is None:
            return True
        left.remove(found)
    return False


def side_by_side(expected: Sequence[Expected], actual: Sequence[Actual], *, is_ordered: bool = True) -> str:
    """Return both lists as a table; lines that differ have a mark."""
    has_timestamps = any(one.timestamp is not None for one in expected)
    left = [str(one) for one in expected]
    right = [one.shown(has_timestamp=has_timestamps) for one in actual]
    rows = list(itertools.zip_longest(left, right)) if is_ordered else _matched(left, right)
    width = max([len("expected"), len(_NOTHING), *(len(text) for text in left)])
    lines = [f"    {'expected':<{width}} | actual"]
    for one, other in rows:
        mark = "  " if one == other else "! "
        lines.append(f"  {mark}{_NOTHING if one is None else one:<{width}} | {_NOTHING if other is None else other}")
    return "\n".join(lines)


def _matched(left: Iterable[str], right: Iterable[str]) -> list[tuple[str | None, str | None]]:
    rest = list(right)
    missing: list[str] = []
    rows: list[tuple[str | None, str | None]] = []
    for text in left:
        if text in rest:
            rest.remove(text)
            rows.append((text, text))
        else:
            missing.append(text)
    return [*rows, *itertools.zip_longest(missing, rest)]
