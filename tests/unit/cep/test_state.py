"""What is kept of keys: little, and nothing where there is no half match; and what is restored."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    MapStateDescriptor,
    OutputTag,
    StateRestoreError,
    ValueStateDescriptor,
)
from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.graph.cep.compiler import compile_pattern
from penstock.runtime.cep.matcher import Matcher
from penstock.runtime.cep.runs import KeyRuns
from penstock.runtime.cep.stored_runs import RUNS, RunCodec
from penstock.runtime.cep.waiting_events import WAITING
from penstock.testing import OperatorHarness

RUN_STATE: Any = ValueStateDescriptor(RUNS, None)
WAITING_STATE: Any = MapStateDescriptor(WAITING)
BACKENDS = pytest.mark.parametrize(
    "backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend], ids=["heap", "rocksdb"]
)


def letter(wanted: str) -> Any:
    return lambda event: event[1] == wanted


def a_then_b() -> Pattern[Any]:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b")).within(10)


def key_of(event: Any) -> Any:
    return event[0]


@BACKENDS
def test_a_key_without_half_matches_leaves_nothing_behind(backend: Any) -> None:
    harness = OperatorHarness.for_pattern(a_then_b(), key=key_of, state_backend=backend())
    harness.push(("matched", "a"), 1)
    harness.push(("over", "a"), 1)
    harness.push(("other", "x"), 1)
    harness.push_watermark(1)
    harness.snapshot(1)
    assert sorted(harness.state_keys(RUN_STATE)) == ["matched", "over"]
    assert len(harness.event_timers()) == 2
    harness.push(("matched", "b"), 2)
    harness.push_watermark(2)
    assert [timer[1] for timer in harness.event_timers()] == ["over"]
    harness.push_watermark(11)
    harness.snapshot(2)
    assert harness.state_keys(RUN_STATE) == []
    assert harness.state_keys(WAITING_STATE) == []
    assert harness.event_timers() == []


@BACKENDS
def test_events_that_wait_are_in_a_snapshot_and_nowhere_afterwards(backend: Any) -> None:
    first = OperatorHarness.for_pattern(a_then_b(), key=key_of, state_backend=backend())
    first.push_run([(("k", "b"), 5), (("k", "a"), 3), (("late", "a"), 4)])
    snapshot = first.snapshot(1)
    second = OperatorHarness.for_pattern(a_then_b(), key=key_of, state_backend=backend(), restore=snapshot)
    second.push_watermark(5)
    assert second.values == [{"a": [("k", "a")], "b": [("k", "b")]}]
    assert second.state_keys(WAITING_STATE) == []
    second.end()
    second.snapshot(2)
    assert second.state_keys(RUN_STATE) == []


def test_an_event_is_stored_once_however_many_half_matches_hold_it() -> None:
    pattern = Pattern.begin("a").followed_by_any("b").one_or_more().allow_combinations().followed_by("c").where(bool)
    automaton = compile_pattern(pattern)
    matcher, kept = Matcher(automaton, lambda: 0), KeyRuns()
    for number in range(8):
        matcher.process(kept, 0, number)
    assert len(kept.runs) > 100
    _, _, _, events, cells, runs, _ = RunCodec(automaton).encode(kept)
    assert len(events) == 8
    assert len(runs) == len(kept.runs)
    assert len(cells) <= len(runs)


def test_an_event_that_nothing_takes_touches_no_state() -> None:
    harness = OperatorHarness.for_pattern(a_then_b(), key=key_of)
    operator: Any = harness.operator.engine  # type: ignore[attr-defined]
    operator.runs.put = operator.runs.remove = None
    harness.push_run([(("k", "x"), 1), (("k", "b"), 2)])
    harness.push_watermark(5)
    assert operator.runs.keys() == []


def test_a_half_match_that_passes_an_event_by_is_not_written() -> None:
    harness = OperatorHarness.for_pattern(a_then_b(), key=key_of)
    harness.push(("k", "a"), 1)
    harness.push_watermark(1)
    operator: Any = harness.operator.engine  # type: ignore[attr-defined]
    operator.runs.put = None
    harness.push(("k", "x"), 2)
    harness.push_watermark(2)
    assert len(harness.runs("k")) == 1


def test_a_simple_condition_is_asked_once_for_an_event() -> None:
    asked = []

    def is_b(event: Any) -> bool:
        asked.append(event)
        return False

    harness = OperatorHarness.for_pattern(Pattern.begin("a").followed_by_any("b").where(is_b).within(1000))
    harness.push_run([(number, number) for number in range(100)])
    harness.push_watermark(99)
    assert len(harness.runs()) == 100
    assert len(asked) == 99


def test_too_many_half_matches_are_dropped_counted_and_shown() -> None:
    dropped = OutputTag("dropped")
    pattern = Pattern.begin("a").followed_by("end").where(lambda event: event == "end")
    harness = OperatorHarness.for_pattern(pattern, max_runs=2, dropped_tag=dropped)
    harness.push_run([("one", 1), ("two", 2), ("three", 3), ("end", 4)])
    harness.push_watermark(9)
    assert harness.side_output(dropped) == [({"a": ["one"]}, 1)]
    assert [match["a"] for match in harness.values] == [["two"], ["three"]]
    assert harness.metrics.counter("numRunsDropped").get_count() == 1


def test_a_held_back_match_comes_out_when_the_time_of_the_earlier_one_is_over() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = (
        Pattern.begin("a", skip)
        .where(lambda event: event in "ax")
        .followed_by("b")
        .where(lambda event, ctx: event == "b" and list(ctx.get_events_for_pattern("a")) == ["x"])
    )
    first = OperatorHarness.for_pattern(pattern.within(10))
    first.push_run([("a", 1), ("x", 2), ("b", 3)])
    first.push_watermark(5)
    assert first.values == []
    second = OperatorHarness.for_pattern(pattern, restore=first.snapshot(1))
    second.push_watermark(11)
    assert second.outputs == [({"a": ["x"], "b": ["b"]}, 11)]


@BACKENDS
def test_a_half_match_in_a_state_that_is_gone_is_refused_with_what_changed(backend: Any) -> None:
    first = OperatorHarness.for_pattern(a_then_b(), key=key_of, state_backend=backend())
    first.push(("k", "a"), 1)
    first.push_watermark(1)
    snapshot = first.snapshot(1)
    changed = Pattern.begin("a").where(letter("a")).next("c").within(10)
    with pytest.raises(StateRestoreError) as caught:
        OperatorHarness.for_pattern(changed, key=key_of, state_backend=backend(), restore=snapshot)
    text = str(caught.value)
    assert "State b does not exist" in text
    assert "part 'b' is gone; part 'c' is new" in text


def test_a_pattern_that_still_fits_goes_on_and_says_what_changed(caplog: pytest.LogCaptureFixture) -> None:
    first = OperatorHarness.for_pattern(a_then_b(), key=key_of)
    first.push(("k", "a"), 1)
    first.push_watermark(1)
    snapshot = first.snapshot(1)
    changed = a_then_b().within(20)
    with caplog.at_level(logging.WARNING, "penstock.cep"):
        second = OperatorHarness.for_pattern(changed, key=key_of, restore=snapshot)
    assert "part 'b' was 'followed_by.within(10 ms)' and is 'followed_by.within(20 ms)'" in caplog.text
    second.push(("k", "b"), 15)
    second.push_watermark(15)
    assert len(second.values) == 1


def test_timers_fire_for_gaps_too() -> None:
    from penstock.cep import WithinType

    pattern = Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))
    pattern.within(5, WithinType.PREVIOUS_AND_CURRENT)
    harness = OperatorHarness.for_pattern(pattern, key=key_of)
    harness.push(("k", "a"), 1)
    harness.push_watermark(1)
    assert [timer[:2] for timer in harness.event_timers()] == [(6, "k")]
    harness.push_watermark(6)
    assert harness.runs("k") == []


def test_processing_time_windows_end_by_the_clock() -> None:
    pattern = a_then_b()
    harness = OperatorHarness.for_pattern(pattern, key=key_of, is_event_time=False)
    harness.push(("k", "a"))
    harness.advance(9)
    harness.push(("k", "b"))
    assert len(harness.values) == 1
    harness.push(("k", "a"))
    harness.advance(11)
    assert harness.runs("k") == []
    assert harness.processing_timers() == []
    assert harness.state_keys(RUN_STATE) == []


def test_a_comparator_in_processing_time_sorts_the_events_of_a_millisecond() -> None:
    harness = OperatorHarness.for_pattern(
        Pattern.begin("a"), lambda match: match["a"][0], comparator=lambda one, other: one - other, is_event_time=False
    )
    harness.push(3)
    harness.push(1)
    assert harness.values == []
    harness.advance(1)
    assert harness.values == [1, 3]
