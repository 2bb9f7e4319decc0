"""``penstock top``: the steps of a job in the terminal, again and again."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from penstock.command_line.finding import find_job
from penstock.foundation.clock import pause
from penstock.vocabulary.time.durations import format_duration

if TYPE_CHECKING:
    import argparse

__all__ = ["top", "top_text"]

_CLEAR = "\x1b[H\x1b[2J"
_ENDED = ("FINISHED", "FAILED", "CANCELED")


def top(options: argparse.Namespace) -> int:
    """Show records, rates and watermarks of all steps until the job ends."""
    job = find_job(options, options.job)
    before: dict[str, Any] | None = None
    while True:
        seen = job.client.get(f"{job.path}/top")
        if options.json:
            sys.stdout.write(f"{json.dumps(seen)}\n")
        else:
            is_screen = sys.stdout.isatty() and not options.once
            sys.stdout.write((_CLEAR if is_screen else "") + top_text(job.entry.name, seen, before))
        sys.stdout.flush()
        if options.once or seen["state"] in _ENDED:
            return 0
        before = seen
        pause(options.interval)


def top_text(name: str, seen: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Return what is seen of a job as a table; rates are since the look before."""
    earlier = {} if before is None else {step["id"]: step for step in before["steps"]}
    millis = 0 if before is None else seen["now"] - before["now"]
    rows = [("STEP", "PAR", "IN", "OUT", "IN/S", "OUT/S", "LAG")]
    for step in seen["steps"]:
        old = earlier.get(step["id"])
        rates = ("-", "-")
        if old is not None and millis > 0:
            rates = tuple(
                f"{max(0, step[key] - old[key]) * 1000 / millis:.0f}" for key in ("records-in", "records-out")
            )  # type: ignore[assignment]
        lag = step["watermark-lag"]
        rows.append(
            (
                step["name"][:60],
                str(step["parallelism"]),
                str(step["records-in"]),
                str(step["records-out"]),
                *rates,
                "-" if lag is None else format_duration(max(0, lag)),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "".join(f"{line}\n" for line in [f"{name}: {seen['state']}", *lines])
