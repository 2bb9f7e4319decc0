"""The physical partitionings of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.program import key_function, partition_function
from penstock.graph import partitioning as ways
from penstock.graph.nodes import Upstream

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.api.environment import StreamExecutionEnvironment

__all__ = ["Partitioned"]


class Partitioned:
    """How the records of a stream are spread over the subtasks of the next step."""

    _environment: StreamExecutionEnvironment
    _upstreams: tuple[Upstream, ...]

    def shuffle(self) -> DataStream[Any]:
        """Send each record to a random subtask."""
        return self._partitioned(ways.Shuffle())

    def rebalance(self) -> DataStream[Any]:
        """Send records to all subtasks in turn."""
        return self._partitioned(ways.Rebalance())

    def rescale(self) -> DataStream[Any]:
        """Send records to some subtasks in turn: each sender has its own share of the receivers."""
        return self._partitioned(ways.Rescale())

    def forward(self) -> DataStream[Any]:
        """Send the records of subtask i to subtask i."""
        return self._partitioned(ways.Forward())

    def global_(self) -> DataStream[Any]:
        """Send all records to the first subtask."""
        return self._partitioned(ways.Global())

    def broadcast(self) -> DataStream[Any]:
        """Send a copy of each record to every subtask."""
        return self._partitioned(ways.Broadcast())

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream[Any]:
        """Let the program choose the subtask: ``partitioner(key, number of subtasks)``."""
        return self._partitioned(ways.Custom(partition=partition_function(partitioner), key=key_function(key_selector)))

    def _partitioned(self, way: ways.Partitioning) -> DataStream[Any]:
        from penstock.api.data_stream import DataStream

        return DataStream(self._environment, tuple(Upstream(up.node, way, up.tag) for up in self._upstreams))
