"""The default of a value state belongs to the key that reads it, on both backends, with and without a time to live."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    StateTtlConfig,
    Time,
    ValueStateDescriptor,
)
from tests.unit.local_jobs import environment, results


@dataclass
class Total:
    parts: list[int] = field(default_factory=list)


class Gather(KeyedProcessFunction):
    """Changes what it read; every second record of a key is stored."""

    def __init__(self, default: Any, *, has_ttl: bool) -> None:
        self.descriptor: ValueStateDescriptor[Any] = ValueStateDescriptor("parts", default_value=default)
        if has_ttl:
            self.descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.parts = runtime_context.get_state(self.descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, list[int]]]:
        gathered = self.parts.value()
        held: list[int] = gathered.parts if isinstance(gathered, Total) else gathered[0]
        held.append(value)
        if value >= 10:
            self.parts.update(gathered)
        yield value % 2, list(held)


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
@pytest.mark.parametrize("has_ttl", [False, True])
@pytest.mark.parametrize("make", [Total, lambda: [[]], lambda: ([],)], ids=["object", "list", "tuple"])
def test_a_default_that_is_changed_is_changed_for_nobody_else(
    make: Callable[[], Any], has_ttl: bool, backend: type
) -> None:
    env = environment().set_state_backend(backend())
    gather = Gather(make(), has_ttl=has_ttl)
    stream = env.from_collection([1, 3, 2, 10, 4, 11]).key_by(lambda value: value % 2).process(gather)
    # What 1, 3 and 2 changed was not stored, so each of them began anew, and so did 10 and 11.
    assert results(stream) == [(1, [1]), (1, [3]), (0, [2]), (0, [10]), (0, [10, 4]), (1, [11])]


def test_a_default_that_cannot_be_changed_is_not_copied() -> None:
    from penstock.statestore.backend import KeyContext
    from penstock.statestore.heap.backend import HeapStateBackend

    keys = KeyContext()
    keys.key = "k"
    default = ("a", 1)
    state = HeapStateBackend(keys).state(ValueStateDescriptor("s", default_value=default))
    assert state.value() is default
