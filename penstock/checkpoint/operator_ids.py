"""What checkpoints need to know about a plan: its operators, and who receives from whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import OperatorInfo
from penstock.graph.partitioning import sources_of

if TYPE_CHECKING:
    from penstock.checkpoint.coordination import TaskId
    from penstock.graph.plan import Plan

__all__ = ["operator_infos", "subtask_inputs", "subtask_names", "vertex_operators"]


def vertex_operators(plan: Plan) -> dict[int, list[str]]:
    """Return the ids of the operators of each vertex, in the order of its chain."""
    return {vertex.id: [node.operator_id for node in vertex.nodes] for vertex in plan.vertices.values()}


def operator_infos(plan: Plan) -> dict[str, OperatorInfo]:
    """Return the operators of a plan by their ids."""
    return {
        node.operator_id: OperatorInfo(
            node.name, vertex.parallelism, vertex.max_parallelism, node.is_source or node.step.shares_own_state
        )
        for vertex in plan.vertices.values()
        for node in vertex.nodes
    }


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
