"""What patterns refuse, by the call that says it, with the line of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Duration, ProgramError
from penstock.cep import (
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternException,
    Pattern,
    SimpleCondition,
    WithinType,
)
from penstock.graph.cep.compiler import compile_pattern

MALFORMED, OTHER = MalformedPatternException, ProgramError


def a() -> Pattern[Any]:
    return Pattern.begin("a")


def always(event: Any) -> bool:
    return True


def group() -> Pattern[Any]:
    return Pattern.begin(Pattern.begin("inner"))


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "times(0)": (OTHER, lambda: a().times(0)),
    "times(-1)": (OTHER, lambda: a().times(-1)),
    "times(-1, 2)": (OTHER, lambda: a().times(-1, 2)),
    "times(3, 2)": (OTHER, lambda: a().times(3, 2)),
    "times(0, 0)": (OTHER, lambda: a().times(0, 0)),
    "times_or_more(0)": (OTHER, lambda: a().times_or_more(0)),
    "one_or_more twice": (MALFORMED, lambda: a().one_or_more().one_or_more()),
    "times after one_or_more": (MALFORMED, lambda: a().one_or_more().times(2)),
    "times_or_more after times": (MALFORMED, lambda: a().times(2).times_or_more(2)),
    "one_or_more of a not_next": (MALFORMED, lambda: a().not_next("n").one_or_more()),
    "times of a not_followed_by": (MALFORMED, lambda: a().not_followed_by("n").times(2)),
    "greedy of a not_next": (MALFORMED, lambda: a().not_next("n").greedy()),
    "optional twice": (MALFORMED, lambda: a().optional().optional()),
    "optional of a not_next": (MALFORMED, lambda: a().not_next("n").optional()),
    "optional of a not_followed_by": (MALFORMED, lambda: a().not_followed_by("n").optional()),
    "optional after a greedy part": (MALFORMED, lambda: a().one_or_more().greedy().next("b").optional()),
    "greedy of a single part": (MALFORMED, lambda: a().greedy()),
    "greedy after allow_combinations": (MALFORMED, lambda: a().one_or_more().allow_combinations().greedy()),
    "greedy of a group": (MALFORMED, lambda: group().one_or_more().greedy()),
    "allow_combinations of a single part": (MALFORMED, lambda: a().allow_combinations()),
    "allow_combinations after consecutive": (MALFORMED, lambda: a().times(2).consecutive().allow_combinations()),
    "allow_combinations twice": (MALFORMED, lambda: a().times(2).allow_combinations().allow_combinations()),
    "consecutive of a single part": (MALFORMED, lambda: a().consecutive()),
    "consecutive after allow_combinations": (MALFORMED, lambda: a().times(2).allow_combinations().consecutive()),
    "consecutive twice": (MALFORMED, lambda: a().times(2).consecutive().consecutive()),
    "until of a single part": (MALFORMED, lambda: a().until(always)),
    "until of times": (MALFORMED, lambda: a().times(2).until(always)),
    "until twice": (MALFORMED, lambda: a().one_or_more().until(always).until(always)),
    "not_next after an optional part": (OTHER, lambda: a().next("b").optional().not_next("c")),
    "not_followed_by after an optional part": (OTHER, lambda: a().next("b").optional().not_followed_by("c")),
    "where of a group": (OTHER, lambda: group().where(always)),
    "or_ of a group": (OTHER, lambda: group().or_(always)),
    "subtype of a group": (OTHER, lambda: group().subtype(int)),
    "where(None)": (OTHER, lambda: a().where(None)),
    "or_(None)": (OTHER, lambda: a().or_(None)),
    "until(None)": (OTHER, lambda: a().one_or_more().until(None)),
    "subtype(None)": (OTHER, lambda: a().subtype(None)),  # type: ignore[arg-type]
    "a condition of no parameter": (OTHER, lambda: a().where(lambda: True)),
    "a condition of three parameters": (OTHER, lambda: a().where(lambda one, two, three: True)),
    "a class as a condition": (OTHER, lambda: a().where(SimpleCondition)),
    "a negative window": (OTHER, lambda: a().within(-1)),
    "a group as a not part": (OTHER, lambda: a().not_next(group())),  # type: ignore[arg-type]
    "a pattern without a name": (OTHER, lambda: Pattern.begin("")),
    "throw_exception_on_miss of no_skip": (
        OTHER,
        lambda: AfterMatchSkipStrategy.no_skip().throw_exception_on_miss(),
    ),
    "two parts of one name": (MALFORMED, lambda: compile_pattern(a().next("a"))),
    "a name in a group that is taken": (MALFORMED, lambda: compile_pattern(a().next(Pattern.begin("a")))),
    "the name of the end": (MALFORMED, lambda: compile_pattern(a().next("$endState$"))),
    "not_followed_by at the end without a window": (
        MALFORMED,
        lambda: compile_pattern(a().followed_by("m").not_followed_by("e")),
    ),
    "not_followed_by at the end with window 0": (
        MALFORMED,
        lambda: compile_pattern(a().followed_by("m").not_followed_by("e").within(0)),
    ),
    "skip to a part that is not there": (
        MALFORMED,
        lambda: compile_pattern(
            Pattern.begin("start", AfterMatchSkipStrategy.skip_to_last("midd")).next("middle").next("end")
        ),
    ),
    "skip to a part inside of a group": (
        MALFORMED,
        lambda: compile_pattern(Pattern.begin(a(), AfterMatchSkipStrategy.skip_to_last("a"))),
    ),
    "a gap that is longer than the window": (
        MALFORMED,
        lambda: compile_pattern(a().next("b").within(11, WithinType.PREVIOUS_AND_CURRENT).next("c").within(10)),
    ),
}


@pytest.mark.parametrize(("kind", "call"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(kind: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert isinstance(caught.value, ProgramError)
    assert caught.value.location is not None
    assert caught.value.location.startswith(__file__)


def test_useless_patterns_are_not_refused() -> None:
    compile_pattern(a().optional())
    compile_pattern(a().one_or_more().greedy())
    compile_pattern(a().within(0))
    compile_pattern(a().not_next("n"))


def test_a_pattern_changes_in_place() -> None:
    part = a()
    assert part.times(4) is part
    assert part.where(always) is part
    times = part.get_times()
    assert times is not None
    assert (times.get_from(), times.get_to()) == (4, 4)


def test_a_length_of_time_in_second_place_of_times_is_the_window() -> None:
    times = a().times(2, Duration.of_millis(3)).get_times()
    assert times is not None
    assert (times.get_to(), times.get_window_size()) == (2, Duration.of_millis(3))


def test_times_from_zero_is_optional() -> None:
    part = a().times(0, 2)
    times = part.get_times()
    assert times is not None
    assert (part.get_quantifier().is_optional, times.get_from(), times.get_to()) == (True, 1, 2)


def test_getters() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    first = Pattern.begin("first", skip).where(always)
    last = first.followed_by("last").one_or_more().until(always).within(Duration.of_seconds(1))
    assert last.get_name() == "last"
    assert last.get_previous() is first
    assert last.get_until_condition() is not None
    assert isinstance(first.get_condition(), IterativeCondition)
    assert last.get_window_size() == Duration.of_seconds(1)
    assert last.get_window_size(WithinType.PREVIOUS_AND_CURRENT) is None
    assert last.get_after_match_skip_strategy() is skip
    assert first.get_condition().filter(1) is True  # type: ignore[call-arg]
