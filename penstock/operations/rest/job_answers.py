"""What is answered about the driver and about a job as a whole, with Flink's names."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.operations.rest.exchange import Answer, RestError
from penstock.operations.rest.served_jobs import vertex_id
from penstock.operations.settings import installed_version
from penstock.vocabulary.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.graph.plan import Vertex
    from penstock.operations.job_facts import FailureFacts, JobFacts, SubtaskFacts
    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = [
    "accumulators", "configuration", "driver_configuration", "driver_overview", "exceptions", "execution_result",
    "job_configuration", "job_details", "job_list", "job_overview", "job_plan", "job_status", "task_counts",
    "vertex_metrics",
]  # fmt: skip

_FLINK = "2.3.0"
"""The version of Flink whose interface this is."""
_TASK_STATES = (
    "CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING", "FINISHED", "CANCELING", "CANCELED", "FAILED",
    "RECONCILING",
)  # fmt: skip


def driver_overview(jobs: ServedJobs, _: Question) -> Any:
    """Return how many jobs the driver has, and how many slots."""
    states = Counter(job.facts.status.name for job in jobs.all())
    running = [job.facts for job in jobs.all() if not job.facts.status.is_globally_terminal_state()]
    hosts = {subtask.host for facts in running for subtask in facts.subtasks.values() if subtask.host}
    total = max((job.facts.slots for job in jobs.all()), default=0)
    return {
        "taskmanagers": len(hosts),
        "slots-total": total,
        "slots-available": max(0, total - sum(facts.job.plan.spark_slots for facts in running)),
        "jobs-running": len(running),
        "jobs-finished": states["FINISHED"],
        "jobs-cancelled": states["CANCELED"],
        "jobs-failed": states["FAILED"],
        "flink-version": _FLINK,
        "penstock-version": installed_version(),
    }


def driver_configuration(jobs: ServedJobs, _: Question) -> Any:
    """Return what pages and scripts need to know about the interface."""
    zone = datetime.fromtimestamp(0, UTC).astimezone()
    offset = zone.utcoffset()
    return {
        "refresh-interval": jobs.settings.refresh_interval,
        "timezone-name": zone.tzname() or "UTC",
        "timezone-offset": 0 if offset is None else int(offset.total_seconds() * 1000),
        "flink-version": _FLINK,
        "penstock-version": installed_version(),
        "features": {"web-submit": False, "web-cancel": True, "web-rescale": False, "web-history": False},
    }


def configuration(jobs: ServedJobs, _: Question) -> Any:
    """Return the settings of the driver's jobs as keys and values; secrets are not shown."""
    found: dict[str, str] = {}
    for job in jobs.all():
        found.update(job.facts.configuration())
    return [{"key": key, "value": value} for key, value in sorted(found.items())]


def job_list(jobs: ServedJobs, _: Question) -> Any:
    """Return the ids and states of all jobs."""
    return {"jobs": [{"id": job.facts.id, "status": job.facts.status.name} for job in jobs.all()]}


def job_overview(jobs: ServedJobs, _: Question) -> Any:
    """Return a few words about every job."""
    return {"jobs": [_short(job.facts) for job in jobs.all()]}


def _short(facts: JobFacts) -> dict[str, Any]:
    with facts.lock:
        return {
            "jid": facts.id,
            "name": facts.name,
            "start-time": facts.started,
            "end-time": _or_minus_one(facts.ended),
            "duration": _duration(facts),
            "state": facts.status.name,
            "last-modification": max(facts.times.values()),
            "tasks": {"total": len(facts.subtasks)} | task_counts(facts.subtasks.values(), str.lower),
            "pending-operators": 0,
            "jobType": _mode(facts),
            "schedulerType": "Default",
        }


def job_details(jobs: ServedJobs, question: Question) -> Any:
    """Return everything about a job that is not on a path of its own."""
    facts = jobs.find(question).facts
    plan = facts.job.plan
    with facts.lock:
        vertices = [_vertex(facts, vertex) for vertex in plan.vertices.values()]
        return {
            "jid": facts.id,
            "name": facts.name,
            "isStoppable": False,
            "state": facts.status.name,
            "job-type": _mode(facts),
            "start-time": facts.started,
            "end-time": _or_minus_one(facts.ended),
            "duration": _duration(facts),
            "maxParallelism": max(vertex.max_parallelism for vertex in plan.vertices.values()),
            "now": facts.now(),
            "timestamps": {state.name: facts.times.get(state.name, 0) for state in JobStatus}
            | {"INITIALIZING": facts.times["INITIALIZING"]},
            "vertices": vertices,
            "status-counts": dict.fromkeys(_TASK_STATES, 0) | Counter(vertex["status"] for vertex in vertices),
            "plan": _plan(facts),
            "pending-operators": 0,
            "attempts": [
                {
                    "attempt": attempt.number,
                    "start-time": attempt.started,
                    "end-time": _or_minus_one(attempt.ended),
                    "restored-checkpoint": attempt.restored_from,
                    "failure": None if attempt.failure is None else attempt.failure.name,
                }
                for attempt in facts.attempts
            ],
        }


def job_status(jobs: ServedJobs, question: Question) -> Any:
    """Return the state of a job."""
    return {"status": jobs.find(question).facts.status.name}


def job_plan(jobs: ServedJobs, question: Question) -> Any:
    """Return the graph of a job."""
    return {"plan": _plan(jobs.find(question).facts)}


def job_configuration(jobs: ServedJobs, question: Question) -> Any:
    """Return the settings of a job; secrets are not shown."""
    facts = jobs.find(question).facts
    config = facts.job.execution_config
    strategy = config.get_restart_strategy()
    return {
        "jid": facts.id,
        "name": facts.name,
        "execution-config": {
            "restart-strategy": "by checkpointing" if strategy is None else str(strategy),
            "job-parallelism": facts.job.settings.parallelism,
            "object-reuse-mode": config.is_object_reuse_enabled(),
            "user-config": facts.configuration(),
        },
    }


def accumulators(jobs: ServedJobs, question: Question) -> Any:
    """Return the counters of a job's functions."""
    totals = jobs.find(question).facts.accumulators()
    listed = [{"name": name, "type": type(value).__name__, "value": str(value)} for name, value in totals.items()]
    return {"job-accumulators": [], "user-task-accumulators": listed, "serialized-user-task-accumulators": {}}


def execution_result(jobs: ServedJobs, question: Question) -> Any:
    """Return how a job ended, once it has."""
    facts = jobs.find(question).facts
    with facts.lock:
        if not facts.status.is_globally_terminal_state():
            return {"status": {"id": "IN_PROGRESS"}}
        result: dict[str, Any] = {
            "id": facts.id,
            "application-status": {"FINISHED": "SUCCEEDED"}.get(facts.status.name, facts.status.name),
            "net-runtime": _duration(facts),
            "accumulator-results": facts.accumulators(),
        }
        if facts.status is JobStatus.FAILED and facts.failures:
            failure = facts.failures[-1]
            result["failure-cause"] = {"class": failure.name, "stack-trace": failure.text}
        return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def exceptions(jobs: ServedJobs, question: Question) -> Any:
    """Return why attempts of a job failed, the newest first; the frames of the program come before ours."""
    facts = jobs.find(question).facts
    wanted = question.query.get("maxExceptions", "20")
    if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 10):
        raise RestError(400, "maxExceptions has to be a number.")
    with facts.lock:
        newest = list(facts.failures)[::-1][: int(wanted)]
        is_truncated = facts.failure_count > len(newest)
    return Answer({"exceptionHistory": {"entries": [_failure(each) for each in newest], "truncated": is_truncated}})


def _failure(failure: FailureFacts) -> dict[str, Any]:
    return {
        "exceptionName": failure.name,
        "stacktrace": failure.text,
        "timestamp": failure.timestamp,
        "taskName": failure.task,
        "endpoint": failure.host,
        "taskManagerId": failure.host,
        "failureLabels": {},
        "concurrentExceptions": [],
        "attempt": failure.attempt,
    }


def _plan(facts: JobFacts) -> dict[str, Any]:
    plan = facts.job.plan
    nodes = [
        {
            "id": vertex_id(vertex),
            "parallelism": vertex.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": vertex.name,
            "inputs": [
                {
                    "num": number,
                    "id": vertex_id(plan.vertices[edge.source]),
                    "ship_strategy": edge.partitioning.label,
                    "exchange": "pipelined_bounded",
                }
                for number, edge in enumerate(plan.inputs_of(vertex.id))
            ],
            "optimizer_properties": {},
        }
        for vertex in plan.vertices.values()
    ]
    return {"jid": facts.id, "name": facts.name, "type": _mode(facts), "nodes": nodes}


def _vertex(facts: JobFacts, vertex: Vertex) -> dict[str, Any]:
    subtasks = [facts.subtasks[vertex.id, index] for index in range(vertex.parallelism)]
    starts = [each.times["INITIALIZING"] for each in subtasks if "INITIALIZING" in each.times]
    start = min(starts, default=-1)
    status = _together(subtasks)
    end = max(max(each.times.values()) for each in subtasks) if status in ("FINISHED", "CANCELED", "FAILED") else -1
    return {
        "id": vertex_id(vertex),
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": status,
        "start-time": start,
        "end-time": end,
        "duration": -1 if start < 0 else (facts.now() if end < 0 else end) - start,
        "tasks": task_counts(subtasks),
        "metrics": vertex_metrics(subtasks),
    }


def vertex_metrics(subtasks: Iterable[SubtaskFacts]) -> dict[str, Any]:
    """Return the sums that Flink shows; what is not measured is marked as not complete."""
    reports = [each.report for each in subtasks]
    is_complete = all(reports)
    return {
        "read-bytes": 0,
        "read-bytes-complete": False,
        "write-bytes": 0,
        "write-bytes-complete": False,
        "read-records": sum(report.get("records_in", 0) for report in reports),
        "read-records-complete": is_complete,
        "write-records": sum(report.get("records_out", 0) for report in reports),
        "write-records-complete": is_complete,
    }


def task_counts(subtasks: Iterable[SubtaskFacts], write: Any = str) -> dict[str, int]:
    """Return how many subtasks are in each state."""
    found = Counter(subtask.state for subtask in subtasks)
    return {write(state): found[state] for state in _TASK_STATES}


def _together(subtasks: list[SubtaskFacts]) -> str:
    """Return the state of a vertex by Flink's rule."""
    states = {subtask.state for subtask in subtasks}
    for state in ("FAILED", "CANCELING", "CANCELED", "INITIALIZING"):
        if state in states:
            return state
    if states == {"FINISHED"}:
        return "FINISHED"
    return "RUNNING" if states & {"RUNNING", "FINISHED"} else next(iter(states))


def _duration(facts: JobFacts) -> int:
    return max(0, (facts.now() if facts.ended is None else facts.ended) - facts.started)


def _or_minus_one(time: int | None) -> int:
    return -1 if time is None else time


def _mode(facts: JobFacts) -> str:
    return "BATCH" if facts.job.is_batch else "STREAMING"
