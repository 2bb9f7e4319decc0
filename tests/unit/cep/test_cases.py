"""The worked cases: in the matcher, and in the operator on both backends, singly and in runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock import EmbeddedRocksDBStateBackend, HashMapStateBackend, OutputTag
from penstock.cep import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.graph.cep.compiler import compile_pattern
from penstock.runtime.cep.matcher import Matcher
from penstock.runtime.cep.runs import KeyRuns, events_of
from penstock.testing import OperatorHarness
from tests.unit.cep.notation import Case, Event, load_cases

CASES = load_cases()
IN_MATCHER = [case for case in CASES if not (case.is_keyed or case.is_processing_time or " W" in case.input)]
LATE, TIMED_OUT = OutputTag("late"), OutputTag("timed out")

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.number)


class Collected(PatternProcessFunction[Event, str], TimedOutPartialMatchHandler[Event]):
    """Shows matches and timed-out half matches as the cases write them."""

    def process_match(self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context) -> Iterator[str]:
        yield text_of(match)

    def process_timed_out_match(
        self, match: dict[str, list[Event]], ctx: PatternProcessFunction.Context
    ) -> Iterator[Any]:
        yield TIMED_OUT, f"{text_of(match)} @{ctx.timestamp()}"


def text_of(match: dict[str, list[Event]]) -> str:
    return " ".join(event.id for events in match.values() for event in events)


def alike(matches: list[str]) -> list[str]:
    """Matches without the order of their events, which the cases do not always write in the order of the parts."""
    return sorted(" ".join(sorted(match.split())) for match in matches)


@pytest.mark.parametrize("case", IN_MATCHER, ids=lambda case: case.number)
def test_case_in_matcher(case: Case) -> None:
    matcher = Matcher(compile_pattern(case.build()), lambda: 0)
    kept = KeyRuns()
    matches: list[str] = []
    timed_out: list[str] = []
    for event, timestamp in case.steps():
        if event is None or timestamp is None:
            continue
        released, over = matcher.advance(kept, timestamp)
        found = [*released, *matcher.process(kept, event, timestamp)]
        matches += [text_of(events_of(cell)) for cell in found]
        timed_out += [f"{text_of(events_of(cell))} @{time}" for cell, time in over]
    assert alike(matches) == alike(case.matches)
    if case.timed_out is not None:
        assert alike(timed_out) == alike(case.timed_out)


def harness_of(case: Case, backend: Any) -> OperatorHarness:
    return OperatorHarness.for_pattern(
        case.build(),
        Collected(),
        key=(lambda event: event.key) if case.is_keyed else None,
        comparator=(lambda one, other: int(one.price - other.price)) if case.has_comparator else None,
        is_event_time=not case.is_processing_time,
        late_tag=LATE,
        state_backend=backend(),
    )


@pytest.mark.parametrize(
    ("backend", "in_runs"),
    [(HashMapStateBackend, False), (HashMapStateBackend, True), (EmbeddedRocksDBStateBackend, False)],
    ids=["singly", "in runs", "rocksdb"],
)
@each_case
def test_case_in_operator(case: Case, backend: Any, in_runs: bool) -> None:
    with harness_of(case, backend) as harness:
        feed(harness, case, in_runs=in_runs)
        check(harness, case)


def feed(harness: OperatorHarness, case: Case, *, in_runs: bool) -> None:
    if case.is_processing_time:
        for event, _ in case.steps():
            harness.push(event)
            harness.advance(1)
        return
    run: list[tuple[Any, int]] = []
    for event, timestamp in case.steps():
        assert timestamp is not None
        if event is not None:
            run.append((event, timestamp))
        if not in_runs or event is None:
            harness.push_run(run)
            run = []
        if event is None:
            harness.push_watermark(timestamp)
    harness.push_run(run)
    harness.end()


def check(harness: OperatorHarness, case: Case) -> None:
    values = harness.values
    assert alike(values) == alike(case.matches)
    if case.is_ordered:
        assert values == case.matches
    if case.timed_out is not None:
        assert alike([value for value, _ in harness.side_output(TIMED_OUT)]) == alike(case.timed_out)
    assert [event.id for event, _ in harness.side_output(LATE)] == case.late


def test_c86_names_are_in_the_order_in_which_events_were_taken() -> None:
    case = next(case for case in CASES if case.number == "C86")
    harness = OperatorHarness.for_pattern(case.build())
    feed(harness, case, in_runs=False)
    assert [list(match) for match in harness.values] == [["a", "b", "aa", "bb", "ab"]]


def test_c96_matches_have_the_timestamps_of_their_last_events() -> None:
    case = next(case for case in CASES if case.number == "C96")
    harness = OperatorHarness.for_pattern(case.build(), Collected())
    feed(harness, case, in_runs=False)
    assert harness.outputs == [("B", 3), ("A", 5)]
