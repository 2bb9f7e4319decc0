"""Two streams of any types in one step: each has its own method of the function, and both share its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.data_stream import DataStream
from penstock.api.keyed_stream import KeyedStream
from penstock.errors import ProgramError
from penstock.graph import multi_input_steps as steps
from penstock.graph.nodes import Upstream
from penstock.vocabulary.functions.basic import CoFlatMapFunction, CoMapFunction
from penstock.vocabulary.functions.process import CoProcessFunction, KeyedCoProcessFunction

if TYPE_CHECKING:
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.graph.steps import Step

__all__ = ["ConnectedStreams", "add_two_input_step", "check_same_environment"]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class ConnectedStreams(Generic[IN1, IN2]):
    """Two connected streams."""

    def __init__(self, stream1: DataStream[IN1], stream2: DataStream[IN2]) -> None:
        check_same_environment("connect", stream1, stream2)
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(self, key_selector1: Any, key_selector2: Any, key_type: Any = None) -> ConnectedStreams[IN1, IN2]:
        """Divide both streams by key, so that records with equal keys meet."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type)
        )

    def map(self, func: CoMapFunction[IN1, IN2, OUT], output_type: Any = None) -> DataStream[OUT]:
        """Turn each record into one result; ``None`` is no result."""
        check_function(func, CoMapFunction, "map", allow_callable=False)
        return self._then(step_name("Co-Map", func), steps.CoMapStep(function=func, **self._keys()), output_type)

    def flat_map(self, func: CoFlatMapFunction[IN1, IN2, OUT], output_type: Any = None) -> DataStream[OUT]:
        """Turn each record into any number of results."""
        check_function(func, CoFlatMapFunction, "flat_map", allow_callable=False)
        step = steps.CoFlatMapStep(function=func, **self._keys())
        return self._then(step_name("Co-Flat Map", func), step, output_type)

    def process(
        self,
        func: CoProcessFunction[IN1, IN2, OUT] | KeyedCoProcessFunction[Any, IN1, IN2, OUT],
        output_type: Any = None,
    ) -> DataStream[OUT]:
        """Put each record through a process function; on keyed streams it has state and timers."""
        is_keyed = isinstance(self.stream1, KeyedStream) or isinstance(self.stream2, KeyedStream)
        if isinstance(func, KeyedCoProcessFunction) and not is_keyed:
            message = (
                "A KeyedCoProcessFunction needs keyed streams: call key_by() before process(), or use a"
                " CoProcessFunction."
            )
            raise ProgramError(message, location())
        check_function(func, (KeyedCoProcessFunction, CoProcessFunction), "process", allow_callable=False)
        kind = "Keyed Co-Process" if is_keyed else "Co-Process"
        return self._then(step_name(kind, func), steps.CoProcessStep(function=func, **self._keys()), output_type)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the streams belong to."""
        return self.stream1.get_execution_environment()

    def _keys(self) -> dict[str, Any]:
        return {"key": self.stream1._key(), "second_key": self.stream2._key()}

    def _then(self, name: str, step: Step, output_type: Any) -> DataStream[Any]:
        return add_two_input_step(self.stream1, self.stream2, name, step, output_type)


def check_same_environment(call: str, first: Any, second: Any) -> None:
    """Refuse what is no stream, and streams of different environments."""
    for stream in (first, second):
        if not isinstance(stream, DataStream):
            message = f"{call}() needs a stream, not {stream!r:.80}."
            raise ProgramError(message, location())
    if first._environment is not second._environment:
        message = f"{call}() needs streams of one environment."
        raise ProgramError(message, location())


def add_two_input_step(
    first: DataStream[Any], second: DataStream[Any], name: str, step: Step, output_type: Any = None
) -> DataStream[Any]:
    """Add a step that reads two streams and return the stream of its results."""
    environment = first._environment
    upstreams = (
        *(Upstream(up.node, up.partitioning, up.tag, 0) for up in first._upstreams),
        *(Upstream(up.node, up.partitioning, up.tag, 1) for up in second._upstreams),
    )
    node = environment.graph.add(name, step, upstreams, location=location(), output_type=output_type)
    return DataStream(environment, (Upstream(node.id),))
