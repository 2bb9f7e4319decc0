"""From what a step says to the operator that does it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.graph import multi_input_steps, steps
from penstock.graph.cep.steps import PatternSetStep, PatternStep
from penstock.graph.multi_input_steps import tagged_key
from penstock.runtime.async_io.wait import AsyncWaitOperator
from penstock.runtime.batch.operators import BATCH_BUILDERS
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.cep.pattern_set_operator import PatternSetOperator
from penstock.runtime.exchange.key_selection import key_function
from penstock.runtime.interpreter_tricks.own_attributes import give_own_attributes
from penstock.runtime.joins.interval import IntervalJoinOperator
from penstock.runtime.joins.regular import JoinOperator
from penstock.runtime.joins.window import build_window_join
from penstock.runtime.operators.batched import FilterBatchesOperator, MapBatchesOperator
from penstock.runtime.operators.broadcast import BroadcastOperator, KeyedBroadcastOperator
from penstock.runtime.operators.connected import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.runtime.operators.rolling import ReduceOperator, RollingOperator
from penstock.runtime.operators.stateful import StatefulOperator
from penstock.runtime.operators.stateless import FilterOperator, MapOperator
from penstock.runtime.sinks.functions import CollectOperator, PrintOperator, SinkFunctionOperator
from penstock.runtime.sinks.writing import GlobalCommitOperator, SinkOperator
from penstock.runtime.sources.function import SourceFunctionOperator
from penstock.runtime.sources.splits import SplitSourceOperator
from penstock.runtime.time.timestamps import TimestampOperator
from penstock.runtime.windows.fast.aligned import AlignedWindowOperator, has_aligned_windows
from penstock.runtime.windows.fast.processing_time import ClockWindowOperator, has_clock_windows
from penstock.runtime.windows.fast.sessions import SessionOperator, has_plain_sessions
from penstock.runtime.windows.operator import WindowOperator

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.operators.operator import Operator

__all__ = ["build_operator"]


def _co_process(step: multi_input_steps.CoProcessStep) -> Operator:
    return KeyedCoProcessOperator(step) if step.has_keyed_state else CoProcessOperator(step)


def _broadcast(step: multi_input_steps.BroadcastProcessStep) -> Operator:
    return BroadcastOperator(step) if step.key is None else KeyedBroadcastOperator(step)


def _process(step: steps.ProcessStep) -> Operator:
    return ProcessOperator(step.function) if step.key is None else KeyedProcessOperator(step.function, step.key)


def _window(step: steps.WindowStep) -> Operator:
    if has_aligned_windows(step):
        return AlignedWindowOperator(step)
    if has_clock_windows(step):
        return ClockWindowOperator(step)
    return SessionOperator(step) if has_plain_sessions(step) else WindowOperator(step)


_BUILDERS: dict[type[steps.Step], Callable[[Any], Operator]] = {
    steps.CollectStep: lambda step: CollectOperator(step.collection),
    steps.FilterStep: lambda step: FilterOperator(step.function, step.key),
    steps.GlobalCommitStep: lambda step: GlobalCommitOperator(step.sink),
    steps.FlatMapStep: lambda step: FlatMapOperator(step.function, step.key),
    steps.MapStep: lambda step: MapOperator(step.function, step.key),
    steps.PrintStep: lambda step: PrintOperator(step.identifier),
    steps.ProcessStep: _process,
    steps.ReduceStep: lambda step: ReduceOperator(step.function, step.key),
    steps.RollingStep: lambda step: RollingOperator(step.kind, step.position, step.key, step.location),
    steps.SinkFunctionStep: lambda step: SinkFunctionOperator(step.function, step.key),
    steps.SinkStep: lambda step: SinkOperator(step.sink, emits_committables=step.emits_committables),
    steps.SourceFunctionStep: lambda step: SourceFunctionOperator(step.function),
    steps.SourceStep: lambda step: SplitSourceOperator(step.source, step.strategy),
    steps.StatefulStep: lambda step: StatefulOperator(step.kind, step.function, step.key),
    steps.TimestampStep: lambda step: TimestampOperator(step.strategy),
    steps.WindowStep: _window,
    steps.AsyncWaitStep: AsyncWaitOperator,
    steps.FilterBatchesStep: FilterBatchesOperator,
    steps.MapBatchesStep: MapBatchesOperator,
    PatternSetStep: PatternSetOperator,
    PatternStep: PatternOperator,
    multi_input_steps.BroadcastProcessStep: _broadcast,
    multi_input_steps.CoFlatMapStep: CoFlatMapOperator,
    multi_input_steps.CoGroupStep: build_window_join,
    multi_input_steps.CoMapStep: CoMapOperator,
    multi_input_steps.CoProcessStep: _co_process,
    multi_input_steps.IntervalJoinStep: IntervalJoinOperator,
    multi_input_steps.JoinStep: JoinOperator,
}


def build_operator(step: steps.Step, *, is_batch: bool = False) -> Operator:
    """Return a new operator for a step; what it finds keys with checks them and remembers where it failed."""
    give_own_attributes(step)
    found: dict[str, Any] = {}
    if isinstance(step, multi_input_steps.CoGroupStep):
        found["input_keys"] = functions = tuple(map(key_function, step.input_keys))
        found["key"] = tagged_key(*functions)
    else:
        selectors = {
            "key": step.key,
            "second_key": step.second_key if isinstance(step, multi_input_steps.TwoInputStep) else None,
        }
        found = {name: key_function(selector) for name, selector in selectors.items() if selector is not None}
        functions = tuple(found.values())
    build = BATCH_BUILDERS.get(type(step)) if is_batch else None
    operator = (build or _BUILDERS[type(step)])(replace(step, **found) if found else step)
    operator.key_functions = functions
    return operator
