"""Refuses programs that cannot run, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloudpickle

from penstock.errors import ProgramError, SerializationError

if TYPE_CHECKING:
    from penstock.graph.nodes import Graph, Node
    from penstock.graph.settings import JobSettings

__all__ = ["pickle_step", "validate"]


def validate(graph: Graph, settings: JobSettings) -> None:
    """Check a whole graph; raises for the first thing that is wrong."""
    if not graph.nodes:
        message = "No operators defined: add a source, steps and a sink before execute()."
        raise ProgramError(message)
    _check_uids(graph)
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
