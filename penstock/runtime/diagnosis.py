"""Why a job gives no output: finds the step, the channel and the split that hold event time back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.elements import MAX_TIMESTAMP, MIN_TIMESTAMP

if TYPE_CHECKING:
    from penstock.graph.plan import Plan

__all__ = ["Reports", "why_no_output"]

Reports = dict[tuple[int, int], dict[str, Any]]


def why_no_output(plan: Plan, reports: Reports, now: int) -> str:
    """Explain, from the last reports of all tasks, what every step waits for."""
    subtasks = {
        (vertex, index): report
        for (_, index), values in reports.items()
        for vertex, report in values.get("subtasks", {}).items()
    }
    if not subtasks:
        return "No task has reported yet: the job is still starting, or Spark has not given it all its slots."
    lines: list[str] = []
    for (vertex, index), report in sorted(subtasks.items()):
        if report["is_finished"]:
            continue
        if plan.vertices[vertex].is_source:
            lines.extend(_source_lines(report))
        else:
            lines.extend(_receiver_lines(plan, subtasks, vertex, index, report, now))
    return "\n".join(lines) if lines else "All subtasks have finished."


def _source_lines(report: dict[str, Any]) -> list[str]:
    lines = []
    if report["records_out"] == 0 and not report.get("splits"):
        lines.append(f"{report['name']}: the source has emitted no record yet.")
    for split, (watermark, highest, is_idle) in report.get("splits", {}).items():
        if is_idle:
            continue
        if highest == MIN_TIMESTAMP:
            lines.append(
                f"{report['name']}: split {split!r} has given no record with a timestamp, so it holds time back."
                " Use with_idleness() if it may stay silent, or with_timestamp_assigner() if its records have no"
                " timestamp."
            )
        else:
            lines.append(f"{report['name']}: split {split!r} is at watermark {watermark}, highest timestamp {highest}.")
    return lines


def _receiver_lines(
    plan: Plan,
    subtasks: dict[tuple[int, int], dict[str, Any]],
    vertex: int,
    index: int,
    report: dict[str, Any],
    now: int,
) -> list[str]:
    if report["records_in"] == 0:
        return [f"{report['name']}: no record has arrived (a filter before it, or no key of this subtask?)."]
    watermark = report["watermark"]
    if watermark == MAX_TIMESTAMP or report["is_idle"]:
        return []
    active = [channel for channel in report["channels"] if not channel["is_idle"]]
    if not active:
        return []
    slowest = min(active, key=lambda channel: channel["watermark"])
    sender = next(edge for edge in plan.edges if edge.id == slowest["edge"]).source
    name = subtasks.get((sender, slowest["source"]), {}).get("name", plan.vertices[sender].name)
    if slowest["watermark"] == MIN_TIMESTAMP:
        reason = (
            "has sent no watermark yet. Does it have records and a WatermarkStrategy? If it may stay silent, use"
            " with_idleness(); if it has a timestamp assigner, check that it returns milliseconds."
        )
    else:
        behind = f", {now - slowest['watermark']} ms behind the clock" if slowest["watermark"] > 0 else ""
        reason = f"is the slowest, at watermark {slowest['watermark']}{behind}."
    return [f"{report['name']}: event time stands at {_shown(watermark)}; the channel from {name} {reason}"]


def _shown(watermark: int) -> str:
    return "the beginning (no watermark)" if watermark == MIN_TIMESTAMP else str(watermark)
