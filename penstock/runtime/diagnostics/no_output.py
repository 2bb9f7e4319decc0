"""Why a job gives no output: the step, the channel and the split that hold event time back, and what to change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.graph.multi_input_steps import IntervalJoinStep
from penstock.graph.steps import SourceStep, TimestampStep, WindowStep
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP

if TYPE_CHECKING:
    from penstock.graph.nodes import Node
    from penstock.graph.plan import Plan, Vertex

__all__ = ["Reports", "SubtaskReports", "subtask_reports", "waits_for_event_time", "why_no_output"]

Reports = dict[tuple[int, int], dict[str, Any]]
"""The last report of each task, by its stage and its index."""
SubtaskReports = dict[tuple[int, int], dict[str, Any]]
"""The last report of each subtask, by its vertex and its index."""

_FIRST_OF_1973 = 94_694_400_000
_DAY = 86_400_000
_SILENT = (
    "If it may stay silent, give its WatermarkStrategy .with_idleness(...), which leaves it out after a while;"
    " if it has records, let .with_timestamp_assigner(...) return their event time."
)


def subtask_reports(reports: Reports) -> SubtaskReports:
    """Return the reports of all subtasks in the reports of tasks."""
    return {
        (vertex, index): report
        for (_, index), values in reports.items()
        for vertex, report in values.get("subtasks", {}).items()
    }


def waits_for_event_time(vertex: Vertex, report: dict[str, Any]) -> bool:
    """Tell whether a subtask has work that only the watermark can start: event-time windows, joins, timers."""
    return report.get("next_timer") is not None or any(_is_event_time(node) for node in vertex.nodes)


def _is_event_time(node: Node) -> bool:
    step = node.step
    if isinstance(step, WindowStep):
        return bool(step.assigner.is_event_time())
    return isinstance(step, IntervalJoinStep)


def why_no_output(plan: Plan, reports: Reports, now: int) -> str:
    """Explain, from the last reports of all tasks, what every step waits for."""
    subtasks = subtask_reports(reports)
    if not subtasks:
        return "No task has reported yet: the job is still starting, or Spark has not given it all its slots."
    if all(report["is_finished"] for report in subtasks.values()):
        return "All subtasks have finished."
    lines = [*_Diagnosis(plan, subtasks, now).lines(), *_late_lines(reports)]
    if lines:
        return "\n".join(lines)
    return "Nothing holds event time back: all steps have records and no step in event time waits for a watermark."


def _late_lines(reports: Reports) -> list[str]:
    dropped: dict[str, int] = {}
    for values in reports.values():
        for name, count in values.get("metrics", {}).items():
            step, _, metric = name.rpartition(".")
            if metric == "numLateRecordsDropped" and count:
                step = step.rpartition(".")[0] or step
                dropped[step] = dropped.get(step, 0) + count
    return [
        f"{step}: {count} records came too late and were dropped. A larger bound of out-of-orderness or"
        " allowed_lateness(...) waits for them; side_output_late_data(...) shows them."
        for step, count in dropped.items()
    ]


class _Diagnosis:
    """Looks at the reports of one moment."""

    def __init__(self, plan: Plan, subtasks: SubtaskReports, now: int) -> None:
        self._plan = plan
        self._subtasks = subtasks
        self._now = now
        self._edges = {edge.id: edge for edge in plan.edges}

    def lines(self) -> list[str]:
        """Return one paragraph per subtask that waits."""
        found: list[str] = []
        for (vertex, _), report in sorted(self._subtasks.items()):
            if report["is_finished"]:
                continue
            if self._plan.vertices[vertex].is_source:
                found.extend(self._about_source(report))
            elif report["records_in"] == 0:
                found.extend(self._about_no_input(vertex, report))
            elif waits_for_event_time(self._plan.vertices[vertex], report):
                found.extend(self._about_time(report))
        return found

    def _about_source(self, report: dict[str, Any]) -> list[str]:
        if report["records_out"]:
            return []
        highest = [highest for _, highest, _ in report.get("splits", {}).values()]
        highest.append(report.get("assigner", {}).get("max_timestamp", MIN_TIMESTAMP))
        if max(highest) > MIN_TIMESTAMP:
            return [f"{report['name']}: the source has records, but a step chained to it passes none of them on."]
        return [f"{report['name']}: the source has sent no record yet."]

    def _about_no_input(self, vertex: int, report: dict[str, Any]) -> list[str]:
        """Explain a subtask without records; one that merely has no keys of its own is not worth a line."""
        same = [other for (number, _), other in self._subtasks.items() if number == vertex]
        if any(other["records_in"] for other in same):
            return []
        senders = [
            sender
            for edge in self._plan.inputs_of(vertex)
            for (number, _), sender in self._subtasks.items()
            if number == edge.source
        ]
        swallowed = [sender for sender in senders if sender["records_in"] and not sender["records_out"]]
        reason = ""
        if swallowed:
            received = sum(sender["records_in"] for sender in swallowed)
            reason = f" {swallowed[0]['name']} has received {received} records, but sent none on: does it filter all?"
        return [f"{report['name']}: no record has arrived.{reason}"]

    def _about_time(self, report: dict[str, Any]) -> list[str]:
        watermark = report["watermark"]
        if watermark == MAX_TIMESTAMP:
            return []
        lines = [f"{report['name']}: event time stands at {_moment(watermark)}{self._distance(watermark)}."]
        if (timer := report.get("next_timer")) is not None:
            lines.append(f"  Its next timer is due at {_moment(timer)}.")
        lines.append(f"  It {self._cause(report)}")
        return lines

    def _distance(self, watermark: int) -> str:
        """Return how far event time is from the clock, where both are of our days."""
        if min(watermark, self._now) < _FIRST_OF_1973 or abs(self._now - watermark) < 1000:
            return ""
        seconds = abs(self._now - watermark) // 1000
        return f", {seconds} s {'behind' if watermark < self._now else 'ahead of'} the clock"

    def _cause(self, report: dict[str, Any]) -> str:
        """Follow the slowest channel up to where its watermarks are made."""
        counted = [channel for channel in report["channels"] if channel["is_counted"]]
        if not counted:
            return (
                "has only idle inputs, so time stands still until one of them has a record again. A trigger in"
                " processing time would fire without records."
            )
        slowest = min(counted, key=lambda channel: channel["watermark"])
        edge = self._edges[slowest["edge"]]
        sender = self._subtasks.get((edge.source, slowest["source"]))
        name = self._plan.vertices[edge.source].name if sender is None else sender["name"]
        if sender is None:
            return f"waits for the channel from {name}, which has not reported yet."
        here = f"waits for the channel from {name}"
        if len(counted) > 1:
            here += f" (at {_moment(slowest['watermark'])}, the slowest of {len(counted)})"
        return f"{here}: {self._origin(edge.source, sender)}"

    def _origin(self, vertex: int, sender: dict[str, Any]) -> str:
        assigner = sender.get("assigner")
        if assigner is not None:
            return self._about_strategy(f"its step {assigner['step']!r}", assigner, sender)
        nodes = self._plan.vertices[vertex].nodes
        if not self._plan.vertices[vertex].is_source:
            return f"that one {self._cause(sender)}"
        if isinstance(nodes[0].step, SourceStep) and nodes[0].step.strategy is not None:
            return self._about_splits(sender)
        has_assigner = any(
            isinstance(node.step, TimestampStep) for other in self._plan.vertices.values() for node in other.nodes
        )
        where = "after this source too" if has_assigner else "right after the source"
        return (
            "the source makes no watermarks. Call assign_timestamps_and_watermarks(...) with a WatermarkStrategy"
            f" {where}, or use windows in processing time."
        )

    def _about_splits(self, sender: dict[str, Any]) -> str:
        splits = {
            split: {"watermark": watermark, "max_timestamp": highest}
            for split, (watermark, highest, is_idle) in sender.get("splits", {}).items()
            if not is_idle
        }
        if not splits:
            return "its source has no split that is not idle, and waits for records."
        slowest = min(splits, key=lambda split: splits[split]["watermark"])
        ahead = [split for split in splits if splits[split]["watermark"] > splits[slowest]["watermark"]]
        others = ""
        if ahead:
            fastest = max(splits[split]["watermark"] for split in ahead)
            others = f" {len(ahead)} other{'s' if len(ahead) > 1 else ''} went on, up to {_moment(fastest)}."
        return self._about_strategy(f"its split {slowest!r}", splits[slowest], sender) + others

    def _about_strategy(self, what: str, assigner: dict[str, Any], sender: dict[str, Any]) -> str:
        watermark, highest = assigner["watermark"], assigner["max_timestamp"]
        if highest == MIN_TIMESTAMP:
            received = sender["records_in"]
            seen = f" ({received} records reached that subtask)" if received else ""
            return f"{what} has seen no record with a timestamp{seen}. {_SILENT}"
        text = f"{what} is at watermark {_moment(watermark)}, its highest timestamp is {_moment(highest)}."
        if watermark == MIN_TIMESTAMP:
            return (
                f"{text} Its WatermarkStrategy makes no watermarks: it is no_watermarks(), or the auto-watermark"
                " interval is 0."
            )
        if 0 < highest < _FIRST_OF_1973 < self._now:
            return f"{text} Timestamps count milliseconds, but these look like seconds: multiply them by 1000."
        if self._now > _FIRST_OF_1973 and highest > self._now + _DAY:
            return f"{text} That is in the future: every record of the present is late. Check how timestamps are made."
        return f"{text} It goes on with the next record that is later; {_SILENT[0].lower()}{_SILENT[1:].split(';')[0]}."


def _moment(timestamp: int) -> str:
    if timestamp == MIN_TIMESTAMP:
        return "the beginning (no watermark)"
    if timestamp == MAX_TIMESTAMP:
        return "the end"
    if not _FIRST_OF_1973 <= timestamp < 100 * _FIRST_OF_1973:
        return str(timestamp)
    return f"{timestamp} ({datetime.fromtimestamp(timestamp // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC)"
