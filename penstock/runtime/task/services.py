"""What an executor lends to the operators of a task: Spark's worker, a local run or a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["Align", "TaskServices"]

Align = Callable[[str, str, int | None, int], int]
"""Takes the alignment group, its member, the member's watermark (``None``: idle or finished) and the largest drift;
returns the time up to which the member may read."""


def _nobody(*_: Any) -> None:
    message = "This executor does not take what print() and collecting sinks emit."
    raise NotImplementedError(message)


def _do_nothing() -> None:
    """Wake nobody: whoever drives the task looks by itself."""


@dataclass(frozen=True)
class TaskServices:
    """The executor's side of a task."""

    print_lines: Callable[[list[str]], None] = _nobody
    """Prints lines on the driver's standard output."""
    collect: Callable[[str, list[Any]], None] = _nobody
    """Sends records to the program, under the name of a collection."""
    wake_up: Callable[[], None] = _do_nothing
    """Makes a task look for work that waits for something outside; may be called from any thread."""
    align: Align | None = None
    """Reports to a watermark alignment group; ``None`` where sources are not aligned."""
    run_commands: Callable[[], None] = _do_nothing
    """Runs the commands that have come for the task; called in the middle of runs that take long."""
    splits: Mapping[str, Mapping[int, SourceSplit]] = field(default_factory=dict)
    """The splits of each source, by operator id and number."""
