"""The ends of a stream that write: how what the program hands over becomes steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.program import check_function, location, step_name
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
    from penstock.api.data_stream import DataStream
    from penstock.api.environment import StreamExecutionEnvironment

__all__ = ["DataStreamSink", "add_sink", "sink_to"]


class DataStreamSink(StepSettings):
    """A step that takes records out of the job; its settings can still be changed."""

    def __init__(self, environment: StreamExecutionEnvironment, node: int) -> None:
        self._environment = environment
        self._node = node

    def _settings_node(self, setting: str) -> int:
        return self._node


def add_sink(stream: DataStream[Any], sink: Any) -> DataStreamSink:
    """Add a sink that is written as a function; sinks of the other kind are taken too, as older programs do."""
    if isinstance(sink, Sink):
        return sink_to(stream, sink)
    if isinstance(sink, TwoPhaseCommitSinkFunction):
        return _write(stream, step_name("Sink", sink), TwoPhaseCommitSink(sink))
    if isinstance(sink, GenericWriteAheadSink):
        return _write(stream, step_name("Sink", sink), WriteAheadSink(sink))
    check_function(sink, SinkFunction, "add_sink", allow_callable=False)
    return stream._sink(step_name("Sink", sink), SinkFunctionStep(function=sink, key=stream._key()))


def sink_to(stream: DataStream[Any], sink: Any) -> DataStreamSink:
    """Add a sink with writers and committers."""
    check_function(sink, Sink, "sink_to", allow_callable=False)
    return _write(stream, f"{type(sink).__name__}: Writer", sink)


def _write(stream: DataStream[Any], name: str, sink: Sink[Any]) -> DataStreamSink:
    is_global = type(sink).create_global_committer is not Sink.create_global_committer
    written = stream._sink(name, SinkStep(sink=sink, emits_committables=is_global))
    if is_global:
        # All committables meet in one subtask.
        stream._environment.graph.add(
            f"{type(sink).__name__}: Global Committer",
            GlobalCommitStep(sink=sink),
            (Upstream(written._node),),
            location=location(),
            parallelism=1,
            is_parallelism_fixed=True,
            is_sink=True,
        )
    return written
