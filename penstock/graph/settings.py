"""The settings of a job that shape its plan and its run, gathered from configuration and code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.graph.nodes import Node

__all__ = ["DEFAULT_BUFFER_TIMEOUT", "DEFAULT_SORT_MEMORY", "JobSettings", "default_max_parallelism"]

DEFAULT_BUFFER_TIMEOUT = 20
"""Milliseconds a record may wait in an unfilled block while its subtask is busy; an idle subtask flushes at once."""
DEFAULT_SORT_MEMORY = 128 << 20
_SMALLEST_MAX_PARALLELISM = 128
_LARGEST_MAX_PARALLELISM = 1 << 15


@dataclass(frozen=True)
class JobSettings:
    """What applies to the whole job."""

    name: str = "Flink Streaming Job"
    parallelism: int = 1
    max_parallelism: int | None = None
    is_chaining_enabled: bool = True
    buffer_timeout: int = DEFAULT_BUFFER_TIMEOUT
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    sort_memory: int = DEFAULT_SORT_MEMORY
    """How many bytes the records of a batch job may take in a subtask before they are sorted in files."""

    def parallelism_of(self, node: Node) -> int:
        """Return the parallelism of a node: its own, else that of the environment when it was added, else the job's."""
        if node.parallelism is not None:
            return node.parallelism
        return self.parallelism if node.inherited_parallelism is None else node.inherited_parallelism

    def max_parallelism_of(self, node: Node, parallelism: int) -> int:
        """Return the number of key groups of a node: its own, else the job's, else Flink's choice."""
        return node.max_parallelism or self.max_parallelism or default_max_parallelism(parallelism)

    def is_max_parallelism_set(self, node: Node) -> bool:
        """Tell whether the program sets the number of key groups of a node."""
        return bool(node.max_parallelism or self.max_parallelism)

    def buffer_timeout_of(self, node: Node) -> int:
        """Return how long a record of a node may wait in a block."""
        return node.buffer_timeout if node.buffer_timeout is not None else self.buffer_timeout


def default_max_parallelism(parallelism: int) -> int:
    """Return Flink's choice where none is set: 1.5 times the parallelism, as a power of two, within 128 and 32768."""
    wanted = parallelism + parallelism // 2
    power = 1
    while power < wanted:
        power <<= 1
    return min(max(power, _SMALLEST_MAX_PARALLELISM), _LARGEST_MAX_PARALLELISM)
