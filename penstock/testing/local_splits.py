"""The splits of the sources of a job that runs in this process: numbered once, found while the clock moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.diagnostics.failure import explain_unusable
from penstock.runtime.sources.enumeration import SplitEnumeration, restored_splits, split_sources
from penstock.vocabulary.program_checks import UnusableValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.graph.job import Job
    from penstock.graph.nodes import Node
    from penstock.runtime.task.task import Task
    from penstock.statestore.handles import StateFiles
    from penstock.vocabulary.sources.protocol import Source, SourceSplit

__all__ = ["LocalSplits"]


class LocalSplits:
    """Does for a run in one process what the driver does for a job on Spark."""

    def __init__(
        self,
        job: Job,
        now: int,
        states: Mapping[tuple[int, int], SubtaskState] | None,
        files: StateFiles | None,
    ) -> None:
        self._sources = split_sources(job.plan)
        self._enumerations = {
            node.operator_id: _enumerate(
                node, source, vertex.parallelism, restored_splits(states, files, vertex.id, node.operator_id)
            )
            for vertex, node, source in self._sources
        }
        self._due = {
            node.operator_id: now + source.discovery_interval
            for _, node, source in self._sources
            if source.discovery_interval is not None
        }

    @property
    def numbered(self) -> dict[str, dict[int, SourceSplit]]:
        """Return the splits of each source, by operator id."""
        return {operator: dict(enumeration.splits) for operator, enumeration in self._enumerations.items()}

    def next_time(self) -> int | None:
        """Return when a source is looked at again."""
        return min(self._due.values(), default=None)

    def discover(self, now: int, tasks: Sequence[Task]) -> None:
        """Look for new splits where it is time to, and give them to their subtasks."""
        for vertex, node, source in self._sources:
            due = self._due.get(node.operator_id)
            if due is None or due > now:
                continue
            self._due[node.operator_id] = now + (source.discovery_interval or 0)
            enumeration: SplitEnumeration = self._enumerations[node.operator_id]
            new: dict[int, Any] = enumeration.discover()
            for task in tasks:
                mine = enumeration.of_subtask(task.index, new)
                if mine and vertex.id in task.subtasks:
                    task.subtasks[vertex.id].add_splits(mine)


def _enumerate(
    node: Node, source: Source[Any], parallelism: int, restored: Mapping[int, SourceSplit] | None
) -> SplitEnumeration:
    try:
        return SplitEnumeration(source, parallelism, restored)
    except UnusableValueError as error:
        raise explain_unusable(error, node.label) from error
