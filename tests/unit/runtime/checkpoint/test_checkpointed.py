"""Functions that keep operator state: what they see before they are opened and when a checkpoint is taken."""

from __future__ import annotations

from typing import Any

from penstock.graph.steps import MapStep
from penstock.runtime.checkpoint.checkpointed_functions import notify_aborted, notify_complete, snapshot_function
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import MapFunction
from penstock.vocabulary.functions.checkpointed import CheckpointedFunction, CheckpointListener
from penstock.vocabulary.state.descriptors import ListStateDescriptor, ValueStateDescriptor


class Buffer(MapFunction[Any, Any], CheckpointedFunction, CheckpointListener):
    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.buffered: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.calls.append(("initialize", context.is_restored(), context.get_restored_checkpoint_id()))
        self._stored = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffered"))
        self.buffered = list(self._stored.get())
        self._count = context.get_keyed_state_store().get_state(ValueStateDescriptor("count"))

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")

    def map(self, value: Any) -> Any:
        self._count.update((self._count.value() or 0) + 1)
        self.buffered.append(value)
        return self._count.value()

    def snapshot_state(self, context: Any) -> None:
        self.calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self._stored.update(self.buffered)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))


def test_a_function_takes_part_in_a_checkpoint() -> None:
    function = Buffer()
    harness = OperatorHarness.for_step(MapStep(function=function, key=lambda value: value))
    harness.push("x")
    harness.push("x")
    assert harness.values == [1, 2]
    snapshot_function(function, 4, 1000)
    assert harness.operator.context.operator_state.snapshot().lists == {"buffered": ["x", "x"]}
    notify_complete(function, 4)
    notify_aborted(function, 5)
    assert function.calls == [
        ("initialize", False, None),
        "open",
        ("snapshot", 4, 1000),
        ("complete", 4),
        ("aborted", 5),
    ]


def test_plain_callables_are_left_alone() -> None:
    snapshot_function(len, 1, 1)
    notify_complete(len, 1)
    notify_aborted(len, 1)
