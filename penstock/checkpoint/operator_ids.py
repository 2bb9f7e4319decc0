"""What checkpoints need to know about a plan: its operators, and who receives from whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import OperatorInfo
from penstock.checkpoint.subtask_state import InputInfo
from penstock.graph.partitioning import Forward, sources_of

if TYPE_CHECKING:
    from penstock.checkpoint.coordinator_messages import TaskId
    from penstock.graph.nodes import Node
    from penstock.graph.plan import Plan, Vertex

__all__ = ["operator_infos", "subtask_inputs", "subtask_names", "vertex_operators"]


def vertex_operators(plan: Plan) -> dict[int, list[str]]:
    """Return the ids of the operators of each vertex, in the order of its chain."""
    return {vertex.id: [node.operator_id for node in vertex.nodes] for vertex in plan.vertices.values()}


def operator_infos(plan: Plan) -> dict[str, OperatorInfo]:
    """Return the operators of a plan by their ids."""
    return {
        node.operator_id: OperatorInfo(
            node.name,
            vertex.parallelism,
            vertex.max_parallelism,
            node.is_source or node.step.shares_own_state,
            _inputs(plan, vertex, node),
            type(node.step).__name__.removesuffix("Step"),
            node.step.has_keyed_state,
        )
        for vertex in plan.vertices.values()
        for node in vertex.nodes
    }


def _inputs(plan: Plan, vertex: Vertex, node: Node) -> tuple[InputInfo, ...]:
    """Return where the records of an operator come from: over exchanges, or from the one before it in its chain."""
    names = {each.id: each.operator_id for other in plan.vertices.values() for each in other.nodes}
    if node is vertex.head:
        return tuple(
            InputInfo(
                names[edge.source_node],
                edge.tag,
                edge.input,
                plan.vertices[edge.source].parallelism,
                edge.partitioning.label,
            )
            for edge in plan.inputs_of(vertex.id)
        )
    return tuple(
        InputInfo(names[link.source], link.tag, 0, vertex.parallelism, Forward().label)
        for link in vertex.links
        if link.target == node.id
    )


def subtask_names(plan: Plan) -> dict[TaskId, str]:
    """Return how messages name subtasks, for example ``Map (2/3)``."""
    return {
        (vertex.id, index): f"{vertex.name} ({index + 1}/{vertex.parallelism})"
        for vertex in plan.vertices.values()
        for index in range(vertex.parallelism)
    }


def subtask_inputs(plan: Plan) -> dict[TaskId, list[TaskId]]:
    """Return all subtasks and, for each, those it has a channel from."""
    inputs: dict[TaskId, list[TaskId]] = {
        (vertex.id, index): [] for vertex in plan.vertices.values() for index in range(vertex.parallelism)
    }
    for edge in plan.edges:
        senders = plan.vertices[edge.source].parallelism
        receivers = plan.vertices[edge.target].parallelism
        for index in range(receivers):
            linked = sources_of(edge.partitioning, index, senders, receivers)
            inputs[edge.target, index] += [(edge.source, sender) for sender in linked]
    return inputs
