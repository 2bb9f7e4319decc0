"""Refuses programs that cannot run, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloudpickle

from penstock.errors import ProgramError, SerializationError
from penstock.graph.partitioning import Custom

if TYPE_CHECKING:
    from penstock.graph.nodes import Graph, Node
    from penstock.graph.settings import JobSettings
    from penstock.vocabulary.settings.checkpoints import CheckpointConfig
    from penstock.vocabulary.settings.execution import ExecutionConfig

__all__ = ["pickle_step", "validate"]


def validate(
    graph: Graph,
    settings: JobSettings,
    *,
    config: ExecutionConfig | None = None,
    checkpoints: CheckpointConfig | None = None,
) -> None:
    """Check a whole graph against the job's settings; raises for the first thing that is wrong."""
    if not graph.nodes:
        message = "No operators defined: add a source, steps and a sink before execute()."
        raise ProgramError(message)
    _check_uids(graph)
    if config is not None and not config.has_auto_generated_uids_enabled():
        _require_uids(graph)
    if checkpoints is not None:
        _check_unaligned(graph, checkpoints)
    for node in graph.nodes.values():
        parallelism = settings.parallelism_of(node)
        groups = settings.max_parallelism_of(node, parallelism)
        if parallelism > groups:
            message = (
                f"The step {node.label!r} has parallelism {parallelism}, more than its maximum parallelism {groups}."
                " Raise set_max_parallelism() or lower set_parallelism()."
            )
            raise ProgramError(message, node.location)
        pickle_step(node)


def _check_uids(graph: Graph) -> None:
    seen: dict[str, Node] = {}
    for node in graph.nodes.values():
        if node.uid is None:
            continue
        if node.uid in seen:
            other = seen[node.uid]
            message = (
                f"The uid {node.uid!r} is used by two steps, {other.name!r} (at {other.location}) and {node.name!r}."
                " A uid names the state of one step: give each its own."
            )
            raise ProgramError(message, node.location)
        seen[node.uid] = node


def _require_uids(graph: Graph) -> None:
    missing = [node for node in graph.nodes.values() if node.uid is None and node.uid_hash is None]
    if missing:
        names = ", ".join(f"{node.name!r} (at {node.location})" for node in missing[1:6])
        others = f" Also without one: {names}{' and more' if len(missing) > 6 else ''}." if names else ""
        message = (
            f"The step {missing[0].name!r} has no uid, and generated ones are turned off"
            " (disable_auto_generated_uids, pipeline.auto-generate-uids). Give it one with uid('...'), so that its"
            f" state is found again when steps are added or removed.{others}"
        )
        raise ProgramError(message, missing[0].location)


def _check_unaligned(graph: Graph, checkpoints: CheckpointConfig) -> None:
    is_asked_for = checkpoints.is_checkpointing_enabled() and checkpoints.is_unaligned_checkpoints_enabled()
    if not is_asked_for or checkpoints.is_force_unaligned_checkpoints():
        return
    for node in graph.nodes.values():
        if any(isinstance(upstream.partitioning, Custom) for upstream in node.upstreams):
            message = (
                f"The input of the step {node.label!r} comes through partition_custom(), and checkpoints are unaligned:"
                " records in flight may not reach the right subtask after a rescaling. Use aligned checkpoints, or set"
                " execution.checkpointing.unaligned.forced if the job is never rescaled from a checkpoint."
            )
            raise ProgramError(message, node.location)


def pickle_step(node: Node) -> bytes:
    """Return the step as bytes, or name the one that cannot be sent to a worker."""
    functions = [*node.step.functions]
    try:
        pickled = bytes(cloudpickle.dumps(node.step))
        for upstream in node.upstreams:
            way = upstream.partitioning
            functions = [part for part in (getattr(way, "partition", None), getattr(way, "key", None)) if part]
            cloudpickle.dumps(way)
    except Exception as error:
        names = ", ".join(_name(function) for function in functions) or type(node.step).__name__
        message = (
            f"The step {node.label!r} cannot be sent to the workers: {names} cannot be pickled ({error}).\n"
            "  Functions travel to other processes with everything they refer to. Open connections, files, locks and"
            f" sessions in open() of the function, not outside of it.\n  at {node.location}"
        )
        raise SerializationError(message) from error
    return pickled


def _name(function: object) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    code = getattr(function, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name
