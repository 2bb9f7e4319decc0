"""What is answered about a job that Flink has no path for: what holds it back, what came late, what it guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.operations.rest.served_jobs import vertex_id

if TYPE_CHECKING:
    from penstock.graph.plan import Vertex
    from penstock.operations.job_facts import JobFacts
    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = ["guarantee", "late", "top", "why_no_output"]

_LATE = "numLateRecordsDropped"


def why_no_output(jobs: ServedJobs, question: Question) -> Any:
    """Return what holds event time back, as text."""
    return {"explanation": jobs.find(question).control.why_no_output()}


def guarantee(jobs: ServedJobs, question: Question) -> Any:
    """Return what is seen of the job's output after a failure."""
    return {"guarantees": list(jobs.find(question).facts.job.guarantees)}


def late(jobs: ServedJobs, question: Question) -> Any:
    """Return how many records came too late and were dropped, by step."""
    facts = jobs.find(question).facts
    dropped: dict[str, int] = {}
    with facts.lock:
        for values in facts.metrics.values():
            for name, count in values.items():
                step, _, metric = name.rpartition(".")
                if metric == _LATE and isinstance(count, int):
                    step = step.rpartition(".")[0] or step
                    dropped[step] = dropped.get(step, 0) + count
    return {"dropped": [{"step": step, "records": count} for step, count in sorted(dropped.items())]}


def top(jobs: ServedJobs, question: Question) -> Any:
    """Return a line per step: its records, its watermark as a lag, its busiest subtask; the furthest behind first."""
    facts = jobs.find(question).facts
    with facts.lock:
        lines = [_line(facts, vertex) for vertex in facts.job.plan.vertices.values()]
        now = facts.now()
    lines.sort(key=lambda line: -1 if line["watermark-lag"] is None else line["watermark-lag"], reverse=True)
    return {"now": now, "state": facts.status.name, "steps": lines}


def _line(facts: JobFacts, vertex: Vertex) -> dict[str, Any]:
    reports = [facts.subtasks[vertex.id, index].report for index in range(vertex.parallelism)]
    known = [report for report in reports if report]
    records = [report.get("records_in", 0) for report in known]
    marks = [report["watermark"] for report in known if _is_a_time(report.get("watermark")) and not report["is_idle"]]
    watermark = min(marks, default=None)
    return {
        "id": vertex_id(vertex),
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "records-in": sum(records),
        "records-out": sum(report.get("records_out", 0) for report in known),
        "most-records-in": max(records, default=0),
        "watermark": watermark,
        "watermark-lag": None if watermark is None else facts.now() - watermark,
    }


def _is_a_time(watermark: Any) -> bool:
    return isinstance(watermark, int) and abs(watermark) < 1 << 62
