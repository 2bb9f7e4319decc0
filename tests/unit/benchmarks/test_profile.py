"""Samples of stacks become a table per record and hop."""

from __future__ import annotations

import pytest

from benchmarks.profile import CATEGORIES, Stack, _at, category, hops, markdown, per_record, read_stacks

LOOP = "run_task (penstock/runtime/task/loop.py:90)"


def test_a_raw_line_is_a_process_its_frames_and_a_count() -> None:
    line = 'process 7:"python -m job";process 9:"python -m daemon";main (worker.py:1);f (a.py:2) 41'
    assert read_stacks(line) == [Stack("process 9", ("main (worker.py:1)", "f (a.py:2)"), 41)]


@pytest.mark.parametrize(
    ("inner", "name"),
    [
        (["Keys.map (benchmarks/systems/penstock.py:50)"], "user code"),
        (["_HeapValueState.value (penstock/statestore/heap/states.py:48)"], "state"),
        (["TimerQueue.add (penstock/runtime/time/timers.py:40)"], "timers"),
        (["_ByKey._spread (penstock/runtime/exchange/partitioners.py:80)"], "routing"),
        (["encode (penstock/runtime/exchange/codec.py:20)"], "encoding"),
        (["decode (penstock/runtime/exchange/codec.py:60)"], "decoding"),
        (["_batch (penstock/execution/spark/worker/exchange.py:38)"], "Spark transport"),
        (["MapOperator.process (penstock/runtime/operators/stateless.py:65)"], "operators"),
        # The standard library counts for whoever called it; a wait is idle.
        (["Keys.map (benchmarks/systems/penstock.py:50)", "dumps (json/__init__.py:231)"], "user code"),
        (["Inbox.take (penstock/runtime/task/loop.py:60)", "Condition.wait (threading.py:327)"], None),
    ],
)
def test_a_stack_counts_for_its_innermost_telling_frame(inner: list[str], name: str | None) -> None:
    assert category((LOOP, *inner)) == name


def test_start_up_counts_for_nothing() -> None:
    assert category(("<module> (penstock/runtime/task/loop.py:1)",)) is None


def test_processes_are_told_apart_by_what_they_do() -> None:
    stacks = [
        Stack("process 1", (LOOP, "poll (penstock/runtime/sources/splits.py:1)"), 4),
        Stack("process 1", (LOOP, "encode (penstock/runtime/exchange/codec.py:20)"), 1),
        Stack("process 2", (LOOP, "decode (penstock/runtime/exchange/codec.py:60)"), 2),
        Stack("process 2", (LOOP, "encode (penstock/runtime/exchange/codec.py:20)"), 2),
        Stack("process 3", (LOOP, "decode (penstock/runtime/exchange/codec.py:60)"), 3),
    ]
    found = hops(stacks)
    assert list(found) == ["source side", "middle", "last hop"]
    assert found["source side"] == {"operators": 4, "encoding": 1, "processes": 1}
    assert found["last hop"] == {"decoding": 3, "processes": 1}


def test_what_is_not_seen_busy_is_idle() -> None:
    # 50 samples at 100 per second are half a second: 500 ns for each of a million records; the other half is idle.
    found = hops([Stack("process 3", (LOOP, "decode (penstock/runtime/exchange/codec.py:60)"), 50)])
    table = per_record(found, records=1_000_000, seconds=1.0, rate=100)
    assert (table["last hop"]["decoding"], table["last hop"]["idle"]) == (500, 500)
    lines = markdown("count", table).splitlines()
    assert lines[0] == "| count, ns per record | last hop |"
    assert len(lines) == 2 + len(CATEGORIES) + 1


def test_the_jvm_has_transport_only() -> None:
    lines = markdown("count", {"last hop": dict.fromkeys((*CATEGORIES, "idle"), 1), "JVM": {"Spark transport": 7}})
    assert "| Spark transport | 1 | 7 |" in lines
    assert "| user code | 1 |  |" in lines


def test_the_jvm_is_read_on_a_straight_line_between_two_moments() -> None:
    assert _at([(0, 0.0), (100, 1.0), (200, 3.0)], 150) == 2.0
