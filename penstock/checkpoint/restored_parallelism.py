"""The number of key groups of a job that starts from a checkpoint: where the program sets none, that of its state.

The number decides which key group a key is in, so it is part of keyed state and cannot be another one afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.checkpoint.rescaling import is_same_operator
from penstock.errors import StateRestoreError

if TYPE_CHECKING:
    from penstock.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
    from penstock.graph.job import Job
    from penstock.graph.plan import Vertex

__all__ = ["take_over_max_parallelism"]


def take_over_max_parallelism(job: Job, metadata: CheckpointMetadata) -> Job:
    """Return the job with the max parallelisms of a checkpoint, where the program leaves them open.

    Raises:
        StateRestoreError: The program sets another one, or runs an operator with more subtasks than its state has key
            groups.
    """
    vertices = {key: _restored(vertex, metadata) for key, vertex in job.plan.vertices.items()}
    return replace(job, plan=replace(job.plan, vertices=vertices))


def _restored(vertex: Vertex, metadata: CheckpointMetadata) -> Vertex:
    known = [(node, metadata.operators.get(node.operator_id)) for node in vertex.nodes]
    found = [each for node, each in known if each is not None and is_same_operator(node.operator_id, each, node.name)]
    keyed = [operator for operator in found if any(state.keyed for state in operator.subtasks.values())]
    for operator in keyed:
        _check(operator, vertex)
    wanted = next((operator.info.max_parallelism for operator in [*keyed, *found]), vertex.max_parallelism)
    if vertex.is_max_parallelism_set or wanted < vertex.parallelism:
        return vertex
    return replace(vertex, max_parallelism=wanted)


def _check(operator: OperatorMetadata, vertex: Vertex) -> None:
    """Refuse a vertex that the keyed state of one of its operators does not fit."""
    groups = operator.info.max_parallelism
    if vertex.parallelism > groups:
        problem = (
            f"The state was taken with a max parallelism of {groups}, so {groups} subtasks are the most that can share"
            f" it, and the operator has {vertex.parallelism}. Lower its parallelism to {groups} or less."
        )
    elif vertex.is_max_parallelism_set and vertex.max_parallelism != groups:
        problem = (
            f"The state was taken with a max parallelism of {groups}, and the program sets {vertex.max_parallelism},"
            f" which cannot be changed for keyed state. Remove the setting, or call set_max_parallelism({groups})."
        )
    else:
        return
    raise StateRestoreError(problem, operator.info.name)
