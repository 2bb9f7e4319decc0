"""What is answered about the steps of a job, their subtasks, and the workers they run in; with Flink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.operations.rest.exchange import RestError
from penstock.operations.rest.job_answers import task_counts, vertex_metrics

if TYPE_CHECKING:
    from penstock.graph.plan import Vertex
    from penstock.operations.job_facts import JobFacts, SubtaskFacts
    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = ["subtask_details", "subtask_times", "vertex_details", "vertex_watermarks", "vertex_workers", "workers"]


def vertex_details(jobs: ServedJobs, question: Question) -> Any:
    """Return the subtasks of a vertex."""
    facts, vertex, subtasks = _found(jobs, question)
    with facts.lock:
        return {
            "id": question.path["vertex"],
            "name": vertex.name,
            "parallelism": vertex.parallelism,
            "maxParallelism": vertex.max_parallelism,
            "now": facts.now(),
            "subtasks": [_subtask(facts, each) for each in subtasks],
            "aggregated": {"metrics": vertex_metrics(subtasks), "tasks": task_counts(subtasks)},
        }


def subtask_details(jobs: ServedJobs, question: Question) -> Any:
    """Return one subtask of a vertex."""
    facts, vertex, subtasks = _found(jobs, question)
    number = question.number("subtask")
    if number >= len(subtasks):
        raise RestError(404, f"{vertex.name} has {len(subtasks)} subtasks, counted from 0.")
    with facts.lock:
        return _subtask(facts, subtasks[number])


def subtask_times(jobs: ServedJobs, question: Question) -> Any:
    """Return when the subtasks of a vertex came into each state."""
    facts, vertex, subtasks = _found(jobs, question)
    with facts.lock:
        return {
            "id": question.path["vertex"],
            "name": vertex.name,
            "now": facts.now(),
            "subtasks": [
                {
                    "subtask": each.index,
                    "endpoint": each.host,
                    "duration": _duration(facts, each),
                    "timestamps": dict(each.times),
                }
                for each in subtasks
            ],
        }


def vertex_watermarks(jobs: ServedJobs, question: Question) -> Any:
    """Return the watermark of each subtask of a vertex."""
    facts, _, subtasks = _found(jobs, question)
    with facts.lock:
        return [
            {"id": f"{each.index}.currentInputWatermark", "value": str(each.report["watermark"])}
            for each in subtasks
            if each.report.get("watermark") is not None
        ]


def vertex_workers(jobs: ServedJobs, question: Question) -> Any:
    """Return the subtasks of a vertex by the host they run on."""
    facts, vertex, subtasks = _found(jobs, question)
    with facts.lock:
        hosts = sorted({each.host for each in subtasks})
        return {
            "id": question.path["vertex"],
            "name": vertex.name,
            "now": facts.now(),
            "taskmanagers": [_worker(host, [each for each in subtasks if each.host == host]) for host in hosts],
        }


def workers(jobs: ServedJobs, _: Question) -> Any:
    """Return the hosts that run subtasks now."""
    by_host: dict[str, int] = {}
    for job in jobs.all():
        if not job.facts.status.is_globally_terminal_state():
            with job.facts.lock:
                tasks = {(each.host, each.process) for each in job.facts.subtasks.values() if each.host}
            for host, _process in tasks:
                by_host[host] = by_host.get(host, 0) + 1
    return {
        "taskmanagers": [
            {"id": host, "path": host, "slotsNumber": count, "freeSlots": 0} for host, count in sorted(by_host.items())
        ]
    }


def _worker(host: str, subtasks: list[SubtaskFacts]) -> dict[str, Any]:
    return {
        "endpoint": host,
        "taskmanager-id": host,
        "metrics": vertex_metrics(subtasks),
        "status-counts": task_counts(subtasks),
    }


def _found(jobs: ServedJobs, question: Question) -> tuple[JobFacts, Vertex, list[SubtaskFacts]]:
    job = jobs.find(question)
    vertex = job.vertex(question)
    with job.facts.lock:
        return job.facts, vertex, [job.facts.subtasks[vertex.id, index] for index in range(vertex.parallelism)]


def _subtask(facts: JobFacts, subtask: SubtaskFacts) -> dict[str, Any]:
    return {
        "subtask": subtask.index,
        "status": subtask.state,
        "attempt": subtask.attempt,
        "endpoint": subtask.host,
        "taskmanager-id": subtask.host,
        "process": subtask.process,
        "start-time": subtask.times.get("INITIALIZING", -1),
        "end-time": _end(subtask),
        "duration": _duration(facts, subtask),
        "metrics": vertex_metrics([subtask]),
        "status-duration": _status_durations(facts, subtask),
    }


def _end(subtask: SubtaskFacts) -> int:
    return next((subtask.times[each] for each in ("FINISHED", "CANCELED", "FAILED") if each in subtask.times), -1)


def _duration(facts: JobFacts, subtask: SubtaskFacts) -> int:
    start, end = subtask.times.get("INITIALIZING", -1), _end(subtask)
    return -1 if start < 0 else max(0, (facts.now() if end < 0 else end) - start)


def _status_durations(facts: JobFacts, subtask: SubtaskFacts) -> dict[str, int]:
    times = sorted(subtask.times.items(), key=lambda each: each[1])
    ends = [*(time for _, time in times[1:]), facts.now()]
    return {
        state: max(0, end - time)
        for (state, time), end in zip(times, ends, strict=True)
        if state not in ("FINISHED", "CANCELED", "FAILED")
    }
