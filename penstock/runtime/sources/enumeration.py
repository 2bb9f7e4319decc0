"""Numbers the splits of a source: done in one place, so that all subtasks agree who reads what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.graph.packing import own_copy
from penstock.graph.steps import SourceStep
from penstock.runtime.sources.read_checks import checked_splits
from penstock.statestore.value_codec import load_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.graph.nodes import Node
    from penstock.graph.plan import Plan, Vertex
    from penstock.statestore.handles import StateFiles
    from penstock.vocabulary.sources.protocol import Source, SourceSplit

__all__ = ["SplitEnumeration", "restored_splits", "split_sources"]


class SplitEnumeration:
    """The splits of one source by their numbers; split i is read by subtask ``i % parallelism``.

    Nothing of it is stored: the splits that subtasks have are in their own state. One that was handed out after a
    checkpoint is unknown after a restart from it, is found again, and is read from its beginning.
    """

    def __init__(self, source: Source[Any], parallelism: int, restored: Mapping[int, SourceSplit] | None) -> None:
        self._source = source
        self._parallelism = parallelism
        if restored is None:
            self.splits = dict(enumerate(checked_splits(source.create_splits(parallelism), source.create_splits)))
        else:
            self.splits = dict(sorted(restored.items()))
            if source.discovery_interval is not None:
                self.discover()

    def discover(self) -> dict[int, SourceSplit]:
        """Look for new splits and return them by their numbers."""
        known = {split.id for split in self.splits.values()}
        first = max(self.splits, default=-1) + 1
        discover = self._source.discover_splits
        splits = checked_splits(discover(list(self.splits.values())), discover)
        found = [split for split in splits if split.id not in known]
        new = dict(enumerate(found, first))
        self.splits.update(new)
        return new

    def of_subtask(self, index: int, splits: Mapping[int, SourceSplit] | None = None) -> dict[int, SourceSplit]:
        """Return those of all splits, or of the given ones, that a subtask reads."""
        chosen = self.splits if splits is None else splits
        return {number: split for number, split in chosen.items() if number % self._parallelism == index}


def split_sources(plan: Plan) -> list[tuple[Vertex, Node, Source[Any]]]:
    """Return the sources of a plan that have splits, each in a copy of its own, with their places."""
    return [
        (vertex, node, own_copy(node.step).source)
        for vertex in plan.vertices.values()
        for node in vertex.nodes
        if isinstance(node.step, SourceStep)
    ]


def restored_splits(
    states: Mapping[tuple[int, int], SubtaskState] | None, files: StateFiles | None, vertex: int, operator_id: str
) -> dict[int, SourceSplit] | None:
    """Return the splits that the subtasks of a source had at the checkpoint, ``None`` if the source is new."""
    if states is None or files is None:
        return None
    # Every subtask of a source gets the states of all, so one of them tells about all splits.
    state = states[vertex, 0].operators.get(operator_id)
    if state is None or not state.own:
        return None
    splits: dict[int, SourceSplit] = {}
    for own in state.own:
        splits.update(load_value(files.read(own), files.classes)["splits"])
    return splits
