"""What a graph has to be in batch: over bounded sources, without watermarks before the end, one place that commits."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import CoGroupStep, TwoInputStep
from penstock.graph.nodes import Chaining, Graph, Node
from penstock.graph.partitioning import Forward
from penstock.graph.steps import GlobalCommitStep, SourceStep, Step, TimestampStep
from penstock.vocabulary.settings.modes import RuntimeExecutionMode
from penstock.vocabulary.time.strategy import TimestampsOnly

__all__ = ["choose_mode", "for_batch", "is_input_keyed"]


def choose_mode(graph: Graph, mode: RuntimeExecutionMode) -> RuntimeExecutionMode:
    """Return STREAMING or BATCH: what the program says, or what its sources are.

    Raises:
        ProgramError: The program says BATCH, but a source has no end.
    """
    if mode is RuntimeExecutionMode.STREAMING:
        return mode
    endless = [node for node in graph.nodes.values() if node.is_source and not _is_bounded(node.step)]
    if not endless:
        return RuntimeExecutionMode.BATCH
    if mode is RuntimeExecutionMode.AUTOMATIC:
        return RuntimeExecutionMode.STREAMING
    message = (
        f"The source {endless[0].label!r} is unbounded, but the runtime mode is BATCH, which needs sources with an end."
        " Use a bounded source, or set the mode to STREAMING or AUTOMATIC (execution.runtime-mode)."
    )
    raise ProgramError(message, endless[0].location)


def _is_bounded(step: Step) -> bool:
    # As in Flink, nobody knows of a source function whether it ends.
    return isinstance(step, SourceStep) and step.is_bounded


def for_batch(graph: Graph) -> Graph:
    """Return the graph as batch runs it."""
    nodes = (node for node in graph.nodes.values() if not isinstance(node.step, GlobalCommitStep))
    return Graph({node.id: _in_batch(node) for node in nodes})


def _in_batch(node: Node) -> Node:
    step = node.step
    if isinstance(step, (SourceStep, TimestampStep)) and step.strategy is not None:
        # There is only the last watermark, at the end of all input.
        node = replace(node, step=replace(step, strategy=TimestampsOnly(step.strategy)))
    is_forwarded = any(isinstance(upstream.partitioning, Forward) for upstream in node.upstreams)
    if is_forwarded and step.has_keyed_state and node.chaining is Chaining.ALWAYS:
        node = replace(node, chaining=Chaining.HEAD)  # its input is grouped by key first
    return node


def is_input_keyed(step: Step, number: int) -> bool:
    """Tell whether the records of an input of a step belong to keys."""
    if isinstance(step, CoGroupStep):
        return True
    if number == 0:
        return step.key is not None
    return isinstance(step, TwoInputStep) and step.second_key is not None
