"""How often a job's results are seen after a failure: as good as its weakest part.

The level of a path from a source to a sink is the lowest of three:

- the source: one that cannot read again gives at most once;
- the engine: exactly once with checkpoints, at least once if they do not align, at most once without any;
- the sink: exactly once if it commits with checkpoints or if writing again changes nothing, else at least once.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.graph.steps import CollectStep, GlobalCommitStep, PrintStep, SinkStep, SourceFunctionStep, SourceStep
from penstock.vocabulary.functions.checkpointed import CheckpointedFunction
from penstock.vocabulary.settings.modes import CheckpointingMode
from penstock.vocabulary.sinks.protocol import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.graph.nodes import Graph, Node
    from penstock.vocabulary.settings.checkpoints import CheckpointConfig

__all__ = ["GUARANTEE_OPTION", "EndToEnd", "Level", "check_guarantee", "end_to_end"]

GUARANTEE_OPTION = "penstock.guarantee"
"""The configuration key for the least that a job must guarantee."""


class Level(enum.IntEnum):
    """How often a record's effect is seen, from the weakest to the strongest."""

    AT_MOST_ONCE = 0
    AT_LEAST_ONCE = 1
    EXACTLY_ONCE = 2

    @property
    def label(self) -> str:
        """Return the name as people write it."""
        return self.name.lower().replace("_", "-")


_SINKS = {
    Delivery.AT_MOST_ONCE: (Level.AT_MOST_ONCE, "does not wait for its records before a checkpoint"),
    Delivery.AT_LEAST_ONCE: (Level.AT_LEAST_ONCE, "writes records again that it wrote after the last checkpoint"),
    Delivery.IDEMPOTENT: (Level.EXACTLY_ONCE, "is idempotent: while records are repeated, older results show again"),
    Delivery.WRITE_AHEAD: (Level.AT_LEAST_ONCE, "repeats a part of a batch if it fails in the middle of writing it"),
    Delivery.TRANSACTIONAL: (Level.EXACTLY_ONCE, "commits with checkpoints: results show when one is complete"),
}
_BATCH_SINKS = {
    Delivery.AT_LEAST_ONCE: (Level.AT_LEAST_ONCE, "writes records again where a task runs again"),
    Delivery.TRANSACTIONAL: (Level.EXACTLY_ONCE, "commits when the whole job has succeeded"),
}


@dataclass(frozen=True)
class EndToEnd:
    """The guarantee of everything that ends in one sink."""

    sink: str
    level: Level
    weakest: str
    """Which part decides, and why."""

    def __str__(self) -> str:
        return f"{self.level.label} into {self.sink!r} (weakest link: {self.weakest})"


def end_to_end(graph: Graph, checkpoints: CheckpointConfig, *, is_batch: bool = False) -> list[EndToEnd]:
    """Return the guarantee of each sink that writes somewhere; a job that only prints has nothing to guarantee.

    In batch the engine needs no checkpoints: what is lost is computed again, from sources that can be read again.
    """
    found = []
    for node in graph.nodes.values():
        if not node.is_sink or isinstance(node.step, (PrintStep, CollectStep, GlobalCommitStep)):
            continue
        engine = (Level.EXACTLY_ONCE, "none") if is_batch else _engine(checkpoints)
        parts = [_sink(node, is_batch=is_batch), engine, *(_source(source) for source in _sources(graph, node))]
        level, reason = min(parts, key=lambda part: part[0])
        found.append(EndToEnd(node.label, level, reason))
    return found


def check_guarantee(
    graph: Graph, checkpoints: CheckpointConfig, required: str | None, *, is_batch: bool = False
) -> list[EndToEnd]:
    """Return the guarantees; refuses a job that cannot give what is asked of it, or a sink that cannot keep its word.

    Raises:
        ProgramError: The job guarantees less than required.
    """
    interval = checkpoints.get_checkpoint_interval() if checkpoints.is_checkpointing_enabled() else None
    for node in graph.nodes.values():
        if isinstance(node.step, SinkStep) and not is_batch:
            node.step.sink.check(checkpoint_interval=interval, checkpoint_timeout=checkpoints.get_checkpoint_timeout())
    guarantees = end_to_end(graph, checkpoints, is_batch=is_batch)
    if required is None:
        return guarantees
    names = {level.label: level for level in Level}
    if required not in names:
        message = f"{GUARANTEE_OPTION} is one of {', '.join(names)}, not {required!r}."
        raise ProgramError(message)
    for guarantee in guarantees:
        if guarantee.level < names[required]:
            message = (
                f"The job was asked to be {required} ({GUARANTEE_OPTION}), but into {guarantee.sink!r} it is only"
                f" {guarantee.level.label}: {guarantee.weakest}."
            )
            raise ProgramError(message, next(node.location for node in _labelled(graph, guarantee.sink)))
    return guarantees


def _labelled(graph: Graph, label: str) -> Iterator[Node]:
    return (node for node in graph.nodes.values() if node.label == label)


def _sink(node: Node, *, is_batch: bool) -> tuple[Level, str]:
    owner = node.step.sink if isinstance(node.step, SinkStep) else getattr(node.step, "function", None)
    known = {**_SINKS, **_BATCH_SINKS} if is_batch else _SINKS
    level, reason = known[getattr(owner, "delivery", Delivery.AT_LEAST_ONCE)]
    return level, f"the sink {node.label!r} {reason}"


def _engine(checkpoints: CheckpointConfig) -> tuple[Level, str]:
    if not checkpoints.is_checkpointing_enabled():
        return Level.AT_MOST_ONCE, "there are no checkpoints: enable_checkpointing() was not called"
    if checkpoints.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE:
        return Level.AT_LEAST_ONCE, "checkpoints do not align: the mode is AT_LEAST_ONCE"
    return Level.EXACTLY_ONCE, "none"


def _source(node: Node) -> tuple[Level, str]:
    step = node.step
    is_replayable = True
    if isinstance(step, SourceStep):
        is_replayable = step.source.is_replayable
    elif isinstance(step, SourceFunctionStep):
        is_replayable = isinstance(step.function, CheckpointedFunction)
    if is_replayable:
        return Level.EXACTLY_ONCE, "none"
    return Level.AT_MOST_ONCE, f"the source {node.label!r} cannot read records again"


def _sources(graph: Graph, sink: Node) -> list[Node]:
    """Return the sources that a sink's records come from."""
    seen: dict[int, Node] = {}
    waiting = [sink]
    while waiting:
        node = waiting.pop()
        if node.id not in seen:
            seen[node.id] = node
            waiting += [graph.nodes[upstream.node] for upstream in node.upstreams]
    return [node for node in seen.values() if node.is_source]
