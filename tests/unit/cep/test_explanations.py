"""Patterns explain themselves: as text and pictures, why they do not match, and where a text is wrong."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from penstock import ProgramError
from penstock.cep import CEP, AfterMatchSkipStrategy, MalformedPatternException, Pattern, WithinType
from penstock.graph.cep.compiler import compile_pattern
from penstock.testing import OperatorHarness


def is_small(amount: float) -> bool:
    return amount < 1


def is_big(amount: float) -> bool:
    return amount > 500


CONDITIONS: dict[str, Any] = {"small": is_small, "big": is_big, "any": None}


def fraud() -> Pattern[Any]:
    return Pattern.begin("small").where(is_small).next("big").where(is_big).within(600_000)


def test_the_text_names_parts_states_and_edges() -> None:
    text = CEP.explain(fraud())
    assert "small: begin" in text
    assert "big: next.within(10 min)" in text
    assert "from first to last event: less than 10 min" in text
    assert "take -> big: is small" in text
    assert "take -> $endState$: is big" in text
    assert "beware" not in text
    assert "beware: Part 'a' repeats without an end" in CEP.explain(Pattern.begin("a").one_or_more())


def test_the_drawings_are_well_formed() -> None:
    pattern = Pattern.begin('a "<b>"').where(is_small).one_or_more().until(is_big).not_followed_by("n")
    pattern = pattern.followed_by("c")
    drawing = ElementTree.fromstring(CEP.explain(pattern, "svg"))
    texts = {element.text for element in drawing.iter() if element.tag.endswith("text")}
    assert {'a "<b>"', "match", "c", "n"} <= texts
    dot = CEP.explain(pattern, "dot")
    assert dot.startswith("digraph pattern {")
    assert dot.endswith("}")
    assert '[label="match" shape=doublecircle]' in dot
    with pytest.raises(ProgramError):
        CEP.explain(pattern, "png")


def test_half_matches_say_what_they_wait_for() -> None:
    harness = OperatorHarness.for_pattern(fraud())
    harness.push(0.5, 1000)
    harness.push_watermark(1000)
    (half,) = harness.runs()
    assert (half.events, half.waits_for, half.started, half.ends) == ({"small": [0.5]}, ("big",), 1000, 601_000)


def test_why_no_match_tells_the_furthest_the_refusal_and_the_time_left() -> None:
    pattern = Pattern.begin("small").where(is_small).followed_by("big").where(is_big).within(600_000)
    harness = OperatorHarness.for_pattern(pattern)
    harness.push_run([(0.5, 1000), (20, 2000)])
    harness.push_watermark(61_000)
    text = harness.why_no_match()
    assert "1 half match; the furthest has" in text
    assert "small: 0.5" in text
    assert "and waits for big" in text
    assert "over at 601000, in 9 min" in text
    assert "the condition of 'big', which refused it: is_big (" in text


def test_why_no_match_tells_how_the_last_half_match_ended() -> None:
    harness = OperatorHarness.for_pattern(fraud())
    harness.push_run([(0.5, 1), (20, 2), (600, 3)])
    harness.push_watermark(3)
    text = harness.why_no_match()
    assert "no half match" in text
    assert "the condition of 'small', which refused it: is_small" in text
    assert "ended with 20 at 2, but big had to be the very next event" in text


def test_why_no_match_tells_of_matches_that_are_held_back() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = Pattern.begin("a", skip).where(lambda event: event in "ax").followed_by("b")
    pattern.where(lambda event, ctx: event == "b" and list(ctx.get_events_for_pattern("a")) == ["x"])
    harness = OperatorHarness.for_pattern(pattern)
    harness.push_run([("a", 1), ("x", 2), ("b", 3)])
    harness.push_watermark(3)
    assert "1 complete, but held back by an earlier half match (skip_past_last_event())" in harness.why_no_match()


def test_only_a_pattern_has_half_matches() -> None:
    with pytest.raises(ProgramError):
        OperatorHarness.for_map(str).runs()


READ = {
    "small next big within 10 min": lambda: fraud(),
    "small": lambda: Pattern.begin("small").where(is_small),
    "small followed_by big": lambda: Pattern.begin("small").where(is_small).followed_by("big").where(is_big),
    "small one or more gap 3 s consecutive greedy next big": lambda: (
        Pattern.begin("small").where(is_small).one_or_more(3000).consecutive().greedy().next("big").where(is_big)
    ),
    "small times 2 to 3 combinations optional followed by any 'big' times 2 or more until small": lambda: (
        Pattern.begin("small")
        .where(is_small)
        .times(2, 3)
        .allow_combinations()
        .optional()
        .followed_by_any("big")
        .where(is_big)
        .times_or_more(2)
        .until(is_small)
    ),
    "(small next big) times 2 not next other followed by end where small or big": lambda: (
        Pattern.begin(Pattern.begin("small").where(is_small).next("big").where(is_big))
        .times(2)
        .not_next("other")
        .followed_by("end")
        .where(is_small)
        .or_(is_big)
    ),
    "small not followed by big within 5 s of previous skip to last small": lambda: (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_to_last("small"))
        .where(is_small)
        .not_followed_by("big")
        .where(is_big)
        .within(5000, WithinType.PREVIOUS_AND_CURRENT)
    ),
}


@pytest.mark.parametrize("text", READ)
def test_texts_are_read(text: str) -> None:
    found = compile_pattern(Pattern.parse(text, {**CONDITIONS, "end": None, "other": None}))
    wanted = compile_pattern(READ[text]())
    assert found.description == wanted.description
    assert (found.skip, found.window) == (wanted.skip, wanted.window)
    assert [(state.name, state.kind, state.edges) for state in found.states] == [
        (state.name, state.kind, state.edges) for state in wanted.states
    ]


REFUSED = {
    "": (1, "expected the name of a part, found the end"),
    "small nxt big": (7, "Did you mean 'next'?"),
    "small next bg": (12, "no condition 'bg'. Did you mean 'big'?"),
    "small next": (11, "expected the name of a part, found the end"),
    "small next next": (12, "no condition 'next'"),
    "small times x": (13, "expected a number"),
    "small within 10 parsec": (14, "'10 parsec' is not a length of time"),
    "(small next big": (16, "expected ')'"),
    "small % big": (7, "'%' means nothing here"),
    "small optional optional": (1, "optional() was called for this part already"),
    "small skip to next next big": (20, "nothing may follow 'skip to next'"),
    "small gap 3 s": (7, "'gap' comes right after how often the part occurs"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_texts_that_are_wrong_are_refused_with_position_and_hint(text: str) -> None:
    position, hint = REFUSED[text]
    with pytest.raises(MalformedPatternException) as caught:
        Pattern.parse(text, CONDITIONS)
    assert hint in str(caught.value)
    assert f"^ position {position}" in str(caught.value)
    assert caught.value.location is not None
    assert caught.value.location.startswith(__file__)
