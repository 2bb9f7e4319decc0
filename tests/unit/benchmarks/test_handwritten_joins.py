"""The processes of the hand-written joins, run in this one with lists instead of pipes."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import expected, ledger
from benchmarks.join_workload import pair
from benchmarks.systems import handwritten_joins as joins
from benchmarks.workload import Event, mark

END = 2**63 - 1


class Lists:
    """An outbox that keeps what is sent, per target."""

    def __init__(self, targets: int) -> None:
        self.sent: list[list[Any]] = [[] for _ in range(targets)]

    def send(self, target: int, batch: Any) -> None:
        self.sent[target].append(batch)


def _checks(folder: Path) -> dict[str, int]:
    reading = ledger.read(str(folder))
    return {"results": reading.results, "sum": reading.total}


def test_events_of_a_key_are_paired_up_to_both_ends_of_the_interval(tmp_path: Path) -> None:
    left: list[Event] = [(1, 1_000, 1), (2, 1_000, 2)]
    right: list[Event] = [(1, 799, 3), (1, 800, 4), (1, 1_200, 5), (1, 1_201, 6), (3, 1_000, 7)]
    joins.interval_task(str(tmp_path), 1, inbox=[(0, (left, END)), (1, (right, END))])
    assert _checks(tmp_path) == {
        "results": 2,
        "sum": mark(*pair(left[0], right[1])) + mark(*pair(left[0], right[2])),
    }


def test_an_event_behind_the_watermark_of_both_streams_is_late(tmp_path: Path) -> None:
    batches: list[tuple[int, tuple[list[Event], int]]] = [
        (0, ([(1, 1_000, 1)], 1_050)),
        (1, ([(1, 1_000, 2)], 1_050)),
        (1, ([(1, 1_049, 3), (1, 1_050, 4)], END)),
    ]
    joins.interval_task(str(tmp_path), 1, inbox=batches)
    assert _checks(tmp_path)["results"] == 2


def test_what_the_watermark_has_passed_is_forgotten() -> None:
    buffer: joins.Buffer = {1: [(1, 900, 0), (1, 901, 0)], 2: [(2, 900, 0)]}
    joins._forget(buffer, 900)
    assert buffer == {1: [(1, 901, 0)]}


def test_a_window_is_paired_when_the_slower_stream_has_passed_it(tmp_path: Path) -> None:
    left: Event = (1, 1_999, 1)
    right: Event = (1, 1_000, 2)
    batches: list[tuple[int, tuple[list[Event], int]]] = [
        (0, ([left, (1, 2_000, 9)], 5_000)),
        (1, ([], 1_998)),
        (1, ([right], 1_999)),
        (1, ([(1, 1_500, 7)], END)),
    ]
    joins.window_task(str(tmp_path), 1, inbox=batches)
    assert _checks(tmp_path) == {"results": 1, "sum": mark(*pair(left, right))}


def test_events_wait_for_the_rules(tmp_path: Path) -> None:
    batches: list[tuple[int, Any]] = [(0, ([(3, 50, 7)], END)), (1, [(3, 11)]), (0, ([(3, 60, 8)], END))]
    joins.rules_task(str(tmp_path), 1, inbox=batches)
    assert _checks(tmp_path) == {"results": 2, "sum": mark(3, 50, 77) + mark(3, 60, 88)}


@pytest.mark.parametrize("job", ["interval-join", "window-join", "broadcast-rules"])
def test_streamed_results_equal_those_of_one_pass(job: str, tmp_path: Path) -> None:
    records, parallelism = 30_000, 2
    sources, tasks = joins.layers(job, records, parallelism, 100, str(tmp_path))
    outboxes = [Lists(parallelism) for _ in sources]
    for source, outbox in zip(sources, outboxes, strict=True):
        source(outbox=outbox)
    for target, task in enumerate(tasks):
        channels = [list(outbox.sent[target]) for outbox in outboxes]
        inbox = []
        while any(channels):
            inbox += [(number, batches.pop(0)) for number, batches in enumerate(channels) if batches]
        task(inbox=inbox)
    assert _checks(tmp_path) == expected.checks(job, records, parallelism)
