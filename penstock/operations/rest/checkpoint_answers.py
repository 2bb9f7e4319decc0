"""What is answered about the checkpoints of a job, with Flink's names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.coordinator_messages import CoordinatorSettings
from penstock.operations.rest.exchange import RestError
from penstock.operations.rest.served_jobs import vertex_id
from penstock.vocabulary.settings.modes import ExternalizedCheckpointRetention

if TYPE_CHECKING:
    from penstock.graph.plan import Vertex
    from penstock.operations.checkpoint_history import Acknowledgement, CheckpointFacts, RestoredFacts
    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = ["checkpoint_configuration", "checkpoint_details", "checkpoint_overview", "checkpoint_subtasks"]

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_NOT_MEASURED = ("processed_data", "persisted_data", "alignment_buffered")


def checkpoint_overview(jobs: ServedJobs, question: Question) -> Any:
    """Return counts, figures, the latest of each kind and the newest checkpoints."""
    history = jobs.find(question).facts.checkpoints
    states, stored, durations = zip(*history.figures, strict=True) if history.figures else ((), (), ())
    return {
        "counts": {
            "restored": history.restored,
            "total": history.total,
            "in_progress": history.in_progress,
            "completed": history.completed,
            "failed": history.failed,
        },
        "summary": {
            "checkpointed_size": _summary(stored),
            "state_size": _summary(states),
            "end_to_end_duration": _summary(durations),
            **{name: _summary(()) for name in _NOT_MEASURED},
        },
        "latest": {
            "completed": _or_none(history.latest_completed),
            "savepoint": _or_none(history.latest_savepoint),
            "failed": _or_none(history.latest_failed),
            "restored": _restored(history.latest_restored),
        },
        "history": [_short(each) for each in history.newest()],
    }


def checkpoint_configuration(jobs: ServedJobs, question: Question) -> Any:
    """Return when and how a job takes checkpoints."""
    job = jobs.find(question).facts.job
    config = job.checkpoints
    settings = CoordinatorSettings.of(config)
    retention = config.get_externalized_checkpoint_retention()
    storage: Any = config.get_checkpoint_storage()
    path = None if storage is None else storage.get_checkpoint_path()
    return {
        "mode": "exactly_once" if settings.is_exactly_once else "at_least_once",
        "interval": -1 if settings.interval is None else settings.interval,
        "timeout": settings.timeout,
        "min_pause": settings.min_pause,
        "max_concurrent": settings.max_concurrent,
        "externalization": {
            "enabled": retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
            "delete_on_cancellation": retention is not ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
        },
        "state_backend": type(job.state_backend).__name__,
        "checkpoint_storage": "JobManagerCheckpointStorage" if path is None else "FileSystemCheckpointStorage",
        "unaligned_checkpoints": settings.is_unaligned,
        "aligned_checkpoint_timeout": settings.aligned_timeout,
        "tolerable_failed_checkpoints": settings.tolerable_failures,
        "checkpoints_after_tasks_finish": settings.after_tasks_finish,
        "num_retained": settings.retained,
    }


def checkpoint_details(jobs: ServedJobs, question: Question) -> Any:
    """Return a checkpoint with what each vertex stored for it."""
    facts = _find(jobs, question)
    plan = jobs.find(question).facts.job.plan
    tasks = {vertex_id(vertex): _vertex(facts, vertex) for vertex in plan.vertices.values()}
    return {**_short(facts), "tasks": tasks}


def checkpoint_subtasks(jobs: ServedJobs, question: Question) -> Any:
    """Return what each subtask of a vertex stored for a checkpoint."""
    facts = _find(jobs, question)
    vertex = jobs.find(question).vertex(question)
    found = [facts.acknowledged.get((vertex.id, index)) for index in range(vertex.parallelism)]
    known = [each for each in found if each is not None]
    return {
        **_vertex(facts, vertex),
        "summary": {
            "state_size": _summary([each.state_size for each in known]),
            "checkpointed_size": _summary([each.stored_size for each in known]),
            "end_to_end_duration": _summary([each.timestamp - facts.triggered for each in known]),
        },
        "subtasks": [_subtask(facts, index, each) for index, each in enumerate(found)],
    }


def _find(jobs: ServedJobs, question: Question) -> CheckpointFacts:
    number = question.number("checkpoint")
    facts = jobs.find(question).facts.checkpoints.get(number)
    if facts is None:
        raise RestError(404, f"There is no checkpoint {number} among those remembered (web.checkpoints.history).")
    return facts


def _short(facts: CheckpointFacts) -> dict[str, Any]:
    kind = facts.options.kind
    return {
        "id": facts.id,
        "status": facts.status,
        "is_savepoint": kind.is_savepoint,
        "savepointFormat": "CANONICAL" if kind.is_savepoint else None,
        "checkpoint_type": _TYPES.get(kind.name, "CHECKPOINT"),
        "trigger_timestamp": facts.triggered,
        "latest_ack_timestamp": facts.last_acknowledgement,
        "state_size": facts.state_size,
        "checkpointed_size": facts.stored_size,
        "end_to_end_duration": facts.duration,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": facts.subtasks,
        "num_acknowledged_subtasks": len(facts.acknowledged),
        "external_path": facts.path or ("<checkpoint-not-externally-addressable>" if facts.ended else None),
        "discarded": facts.is_discarded,
        "failure_message": facts.failure,
        "failure_timestamp": facts.ended if facts.failure is not None else None,
    }


_TYPES = {"SAVEPOINT": "SAVEPOINT", "STOP": "SYNC_SAVEPOINT"}


def _vertex(facts: CheckpointFacts, vertex: Vertex) -> dict[str, Any]:
    found = [
        facts.acknowledged[key]
        for index in range(vertex.parallelism)
        if (key := (vertex.id, index)) in facts.acknowledged
    ]
    last = max((each.timestamp for each in found), default=-1)
    is_complete = len(found) == vertex.parallelism
    return {
        "id": facts.id,
        "status": "COMPLETED" if is_complete else "FAILED" if facts.status == "FAILED" else "IN_PROGRESS",
        "latest_ack_timestamp": last,
        "state_size": sum(each.state_size for each in found),
        "checkpointed_size": sum(each.stored_size for each in found),
        "end_to_end_duration": max(0, last - facts.triggered) if found else -1,
        "num_subtasks": vertex.parallelism,
        "num_acknowledged_subtasks": len(found),
    }


def _subtask(facts: CheckpointFacts, index: int, found: Acknowledgement | None) -> dict[str, Any]:
    if found is None:
        return {"index": index, "status": "pending_or_failed"}
    return {
        "index": index,
        "status": "completed",
        "ack_timestamp": found.timestamp,
        "end_to_end_duration": max(0, found.timestamp - facts.triggered),
        "state_size": found.state_size,
        "checkpointed_size": found.stored_size,
    }


def _or_none(facts: CheckpointFacts | None) -> dict[str, Any] | None:
    return None if facts is None else _short(facts)


def _restored(restored: RestoredFacts | None) -> dict[str, Any] | None:
    if restored is None:
        return None
    return {
        "id": restored.id,
        "restore_timestamp": restored.timestamp,
        "is_savepoint": restored.is_savepoint,
        "external_path": restored.path or None,
    }


def _summary(values: tuple[int, ...] | list[int]) -> dict[str, float]:
    """Return least, greatest and mean value and quantiles, each a value that there was; zeros if there was none."""
    ordered = sorted(values)
    if not ordered:
        return dict.fromkeys(("min", "max", "avg", *_QUANTILES), 0)
    quantiles = {name: ordered[max(0, math.ceil(part * len(ordered)) - 1)] for name, part in _QUANTILES.items()}
    return {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered), **quantiles}
