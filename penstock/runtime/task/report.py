"""What a task tells about itself: records, watermarks, idleness, and where its time is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.native import accelerator
from penstock.runtime.sources.splits import SplitSourceOperator
from penstock.runtime.time.timestamps import TimestampOperator

if TYPE_CHECKING:
    from penstock.runtime.task.subtask import Subtask
    from penstock.runtime.task.task import Task

__all__ = ["report_task"]


def report_task(task: Task) -> dict[str, Any]:
    """Return the state of each subtask as plain data, and the metrics of the program's functions."""
    return {
        "subtasks": {vertex: _report_subtask(subtask) for vertex, subtask in task.subtasks.items()},
        "metrics": task.metrics.snapshot(),
    }


def _report_subtask(subtask: Subtask) -> dict[str, Any]:
    valve = subtask.valve
    report: dict[str, Any] = {
        "name": subtask.info.label,
        "records_in": subtask.records_in,
        "records_out": sum(writer.records for writer in subtask.chain.writers),
        "is_finished": subtask.is_finished,
        "accelerator": accelerator,
        "watermark": valve.watermark,
        "is_idle": valve.is_idle,
        "channels": [
            {
                "edge": edge,
                "source": source,
                "watermark": channel.watermark,
                "is_idle": channel.is_idle,
                "is_counted": channel.is_aligned and not channel.is_idle,
            }
            for (edge, source), channel in zip(subtask.channel_names, valve.channels, strict=False)
        ],
    }
    for node, operator in zip(subtask.chain.nodes, subtask.chain.operators, strict=True):
        if operator.timers is not None:
            report["next_timer"] = operator.timers.event_timers.first()
        if isinstance(operator, SplitSourceOperator):
            report["splits"] = operator.watermarks()
        if isinstance(operator, TimestampOperator):
            assigner = operator.assigner
            report["assigner"] = {
                "step": node.name,
                "watermark": assigner.watermark,
                "max_timestamp": assigner.max_timestamp,
                "is_idle": assigner.is_idle,
            }
    return report
