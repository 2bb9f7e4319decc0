"""The ends of a stream that write: how what the program hands over becomes steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.step_settings import StepSettings
from penstock.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.connectors.write_ahead import WriteAheadSink
from penstock.graph.nodes import Upstream
from penstock.graph.steps import GlobalCommitStep, SinkFunctionStep, SinkStep
from penstock.vocabulary.sinks.functions import SinkFunction
from penstock.vocabulary.sinks.protocol import Sink
from penstock.vocabulary.sinks.two_phase_commit import TwoPhaseCommitSinkFunction
from penstock.vocabulary.sinks.write_ahead import GenericWriteAheadSink

if TYPE_CHECKING:
    from penstock.graph.nodes import Graph
    from penstock.graph.steps import Step

__all__ = ["DataStreamSink", "add_sink_step", "sink_function_step", "sink_step"]


class DataStreamSink(StepSettings):
    """A step that takes records out of the job; its settings can still be changed."""

    def __init__(self, graph: Graph, node: int) -> None:
        self._steps = graph
        self._node = node

    @property
    def _graph(self) -> Graph:
        return self._steps

    def _settings_node(self, setting: str) -> int:
        return self._node


def sink_function_step(sink: Any, key: Any) -> tuple[str, Step]:
    """Return name and step of a sink that is written as a function; older programs give sinks of the other kind too."""
    if isinstance(sink, Sink):
        return sink_step(sink)
    if isinstance(sink, TwoPhaseCommitSinkFunction):
        return step_name("Sink", sink), _writing(TwoPhaseCommitSink(sink))
    if isinstance(sink, GenericWriteAheadSink):
        return step_name("Sink", sink), _writing(WriteAheadSink(sink))
    check_function(sink, SinkFunction, "add_sink", allow_callable=False)
    return step_name("Sink", sink), SinkFunctionStep(function=sink, key=key)


def sink_step(sink: Any) -> tuple[str, Step]:
    """Return name and step of a sink with writers and committers."""
    check_function(sink, Sink, "sink_to", allow_callable=False)
    return f"{type(sink).__name__}: Writer", _writing(sink)


def _writing(sink: Sink[Any]) -> SinkStep:
    is_global = type(sink).create_global_committer is not Sink.create_global_committer
    return SinkStep(sink=sink, emits_committables=is_global)


def add_sink_step(graph: Graph, upstreams: tuple[Upstream, ...], name: str, step: Step) -> DataStreamSink:
    """Add the last step of a stream, and where its committables meet in one subtask, the one that commits them."""
    node = graph.add(name, step, upstreams, location=location(), is_sink=True)
    if isinstance(step, SinkStep) and step.emits_committables:
        graph.add(
            f"{type(step.sink).__name__}: Global Committer",
            GlobalCommitStep(sink=step.sink),
            (Upstream(node.id),),
            location=location(),
            parallelism=1,
            is_parallelism_fixed=True,
            is_sink=True,
        )
    return DataStreamSink(graph, node.id)
