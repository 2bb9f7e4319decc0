"""``penstock list``: the jobs that are known, in blocks as Flink's."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.command_line.finding import known_jobs
from penstock.operations.registry import LOST

if TYPE_CHECKING:
    import argparse

    from penstock.operations.registry import RegistryEntry

__all__ = ["list_jobs", "list_text"]

_SCHEDULED = ("CREATED", "INITIALIZING")
_WIDTH = 62


def list_jobs(options: argparse.Namespace) -> int:
    """Print the jobs that are asked for."""
    everything = not (options.running or options.scheduled) or options.all
    kinds = [
        name
        for name, is_wanted in (
            ("running", options.running or everything),
            ("scheduled", options.scheduled or everything),
            ("lost", everything),
            ("ended", options.all),
        )
        if is_wanted
    ]
    blocks = {kind: [entry for entry in known_jobs(options) if _kind(entry) == kind] for kind in kinds}
    if options.json:
        chosen = [dataclasses.asdict(entry) for entries in blocks.values() for entry in entries]
        sys.stdout.write(f"{json.dumps(chosen, indent=1)}\n")
    else:
        sys.stdout.write(list_text(blocks))
    return 0


def list_text(blocks: dict[str, list[RegistryEntry]]) -> str:
    """Return the jobs as text, the oldest of a block first."""
    lines: list[str] = []
    for kind, entries in blocks.items():
        if entries:
            lines.append(f" {_TITLES[kind]} ".center(_WIDTH, "-"))
            lines += [_line(entry) for entry in sorted(entries, key=lambda entry: entry.start)]
            lines.append("-" * _WIDTH)
        elif kind in _NONE:
            lines.append(_NONE[kind])
    return "".join(f"{line}\n" for line in lines)


_TITLES = {
    "running": "Running/Restarting Jobs", "scheduled": "Scheduled Jobs", "lost": "Lost Jobs", "ended": "Terminated Jobs"
}  # fmt: skip
_NONE = {"running": "No running jobs.", "scheduled": "No scheduled jobs.", "ended": "No terminated jobs."}


def _kind(entry: RegistryEntry) -> str:
    if entry.has_ended:
        return "ended"
    return "lost" if entry.state == LOST else "scheduled" if entry.state in _SCHEDULED else "running"


def _line(entry: RegistryEntry) -> str:
    start = datetime.fromtimestamp(entry.start / 1000, UTC).astimezone()
    return f"{start:%d.%m.%Y %H:%M:%S} : {entry.id} : {entry.name} ({entry.state})"
