"""The operators of the steps that read two streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.graph import multi_input_steps as steps
from penstock.runtime.joins.interval import IntervalJoinOperator
from penstock.runtime.joins.regular import JoinOperator
from penstock.runtime.joins.window import build_window_join
from penstock.runtime.operators.broadcast import BroadcastOperator, KeyedBroadcastOperator
from penstock.runtime.operators.connected import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.steps import Step
    from penstock.runtime.operators.operator import Operator

__all__ = ["MULTI_INPUT_BUILDERS"]


def _co_process(step: steps.CoProcessStep) -> Operator:
    return KeyedCoProcessOperator(step) if step.has_keyed_state else CoProcessOperator(step)


def _broadcast(step: steps.BroadcastProcessStep) -> Operator:
    return BroadcastOperator(step) if step.key is None else KeyedBroadcastOperator(step)


MULTI_INPUT_BUILDERS: dict[type[Step], Callable[[Any], Operator]] = {
    steps.BroadcastProcessStep: _broadcast,
    steps.CoFlatMapStep: CoFlatMapOperator,
    steps.CoGroupStep: build_window_join,
    steps.CoMapStep: CoMapOperator,
    steps.CoProcessStep: _co_process,
    steps.IntervalJoinStep: IntervalJoinOperator,
    steps.JoinStep: JoinOperator,
}
"""What makes an operator of each kind of step."""
