"""What the tests of windows share: harnesses for both kinds of operator, and the programs of the worked cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph.steps import WindowStep
from penstock.runtime.task.build import build_operator
from penstock.runtime.windows.operator import WindowOperator
from penstock.statestore.snapshot_format import BytesInput, KeyedStateReader
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.functions.windowed import ProcessWindowFunction

GENERAL = "general"
BUILT = "built"
KINDS = [GENERAL, BUILT]
"""Each case runs on the operator that a job would use and on the general one: they must not differ."""


def first(record: Any) -> Any:
    return record[0]


def window_harness(kind: str, assigner: Any, *, key: Callable[[Any], Any] = first, **settings: Any) -> OperatorHarness:
    settings.setdefault("is_keyed", True)
    step = WindowStep(key=key, assigner=assigner, **settings)
    return OperatorHarness(WindowOperator(step) if kind == GENERAL else build_operator(step), name="windows")


class Count(AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Describe(ProcessWindowFunction[Any, Any, Any, Any]):
    """Yields what the worked cases print: start, end, current watermark and the number of elements."""

    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Any:
        window = context.window()
        yield window.start, window.end, context.current_watermark(), len(list(elements))


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    """Yields key, window bounds and the elements."""

    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Any:
        window = context.window()
        return [(key, window.start, window.end, list(elements))]


def ascending(timestamp: int, highest: int) -> int:
    return highest - 1


def legacy(delay: int) -> Callable[[int, int], int]:
    return lambda timestamp, highest: highest - delay


def bounded(delay: int) -> Callable[[int, int], int]:
    return lambda timestamp, highest: highest - delay - 1


def punctuated(timestamp: int, highest: int) -> int:
    return timestamp


def feed(
    harness: OperatorHarness,
    records: Iterable[tuple[Any, int]],
    watermark: Callable[[int, int], int] | None = None,
) -> list[list[Any]]:
    """Push records, each followed by the watermark it causes; return the values that each of them let out."""
    highest = current = -(2**63)
    let_out = []
    for value, timestamp in records:
        harness.push(value, timestamp)
        highest = max(highest, timestamp)
        if watermark is not None and (caused := watermark(timestamp, highest)) > current:
            current = caused
            harness.push_watermark(caused)
        let_out.append([value for value, _ in harness.take_outputs()])
    return let_out


def at_end(harness: OperatorHarness) -> list[Any]:
    """End the input; return the values that came out."""
    harness.end()
    return [value for value, _ in harness.take_outputs()]


def left_behind(harness: OperatorHarness) -> dict[str, set[Any]]:
    """Return, per state, the windows about which the state backend still knows something."""
    backend = harness._backend
    assert backend is not None
    found = {name: set(table.namespaces) - {None} for name, table in backend._tables.items()}
    return {name: windows for name, windows in found.items() if windows}


def restore(new: OperatorHarness, old: OperatorHarness) -> None:
    """Take a snapshot of one operator, through bytes, into another."""
    assert old._backend is not None
    assert new._backend is not None
    parts: list[bytes] = []
    groups = range(128)
    old._backend.snapshot(groups, 128, old.operator.snapshot_timers()).encode(parts.extend)
    timers = new._backend.restore([KeyedStateReader(BytesInput(b"".join(parts)))], groups, 128)
    # The harness opens its operator at once; a job does so only now.
    new.operator.open()
    new.operator.restore_timers(timers)
