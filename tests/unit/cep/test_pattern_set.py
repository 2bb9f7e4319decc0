"""Patterns that come, change and go while the job runs."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import DataStream, EmbeddedRocksDBStateBackend, HashMapStateBackend, OutputTag, ValueStateDescriptor
from penstock.cep import CEP, Pattern
from penstock.runtime.cep.stored_runs import RUNS
from penstock.testing import OperatorHarness

REFUSED = OutputTag("refused")
CONDITIONS: dict[str, Any] = {letter: (lambda event, letter=letter: event[1] == letter) for letter in "abc"}


def step(events: DataStream[Any], rules: DataStream[Any]) -> DataStream[Any]:
    found = CEP.patterns(events.key_by(lambda event: event[0]), rules, lambda rule: Pattern.parse(rule, CONDITIONS))
    return found.side_output_refused_rules(REFUSED).select(lambda name, match: (name, *match))


def push(harness: OperatorHarness, *events: tuple[str, int]) -> None:
    for letter, timestamp in events:
        harness.push(("k", letter), timestamp)
    harness.push_watermark(events[-1][1])


def test_patterns_are_added_replaced_and_removed() -> None:
    harness = OperatorHarness.for_stream(step)
    push(harness, ("a", 1), ("b", 2))
    assert harness.values == []
    harness.push_second(("one", "a followed by b within 10 ms"))
    harness.push_second(("two", "b next c within 10 ms"))
    push(harness, ("a", 3), ("b", 4), ("c", 5))
    assert sorted(harness.values) == [("one", "a", "b"), ("two", "b", "c")]
    harness.take_outputs()
    push(harness, ("a", 6), ("b", 7))
    harness.push_second(("one", "a followed by c within 10 ms"))
    harness.push_second(("two", None))
    push(harness, ("c", 8))
    assert harness.values == [("one", "a", "b")], "the half matches of what was replaced or removed are gone"
    push(harness, ("a", 9), ("c", 10))
    assert harness.values == [("one", "a", "b"), ("one", "a", "c")]


def test_removing_a_pattern_leaves_no_state_and_no_timers() -> None:
    harness = OperatorHarness.for_stream(step)
    harness.push_second(("one", "a followed by b within 10 ms"))
    push(harness, ("a", 1))
    harness.snapshot(1)
    assert harness.state_keys(ValueStateDescriptor(RUNS, None), "one") == ["k"]
    assert len(harness.event_timers()) == 1
    harness.push_second(("one", None))
    assert harness.state_keys(ValueStateDescriptor(RUNS, None), "one") == []
    assert harness.event_timers() == []


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend], ids=["heap", "rocksdb"])
def test_patterns_and_their_half_matches_are_in_snapshots(backend: Any) -> None:
    first = OperatorHarness.for_stream(step, state_backend=backend())
    first.push_second(("one", "a followed by b within 10 ms"))
    push(first, ("a", 1))
    second = OperatorHarness.for_stream(step, state_backend=backend(), restore=first.snapshot(1))
    push(second, ("b", 2))
    assert second.values == [("one", "a", "b")]


def test_rules_that_are_no_patterns_go_to_the_side_output() -> None:
    harness = OperatorHarness.for_stream(step)
    harness.push_second(("one", "a nxt b"))
    ((refused, _),) = harness.side_output(REFUSED)
    assert refused[:2] == ("one", "a nxt b")
    assert "Did you mean 'next'?" in refused[2]


def test_why_no_match_speaks_of_each_pattern() -> None:
    harness = OperatorHarness.for_stream(step)
    harness.push_second(("one", "a followed by b within 10 ms"))
    push(harness, ("a", 1))
    assert "pattern 'one', key 'k':\n  1 half match" in harness.why_no_match("k")
    assert len(harness.runs("k")) == 1
