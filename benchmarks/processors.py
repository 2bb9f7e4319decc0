"""How much processor time the processes of a job have used."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_times(root: int) -> dict[int, tuple[str, float]]:
    """Returns the kind and the processor seconds of a process and all its descendants."""
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue  # it has just ended
            fields = rest.split()
            stats[int(entry.name)] = (name, int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS)
    found: dict[int, tuple[str, float]] = {}
    parents = {root}
    while parents:
        for pid in parents:
            if pid in stats:
                kind = "driver" if pid == root else "JVM" if stats[pid][0] == "java" else "workers"
                found[pid] = (kind, stats[pid][2])
        parents = {pid for pid, (_, parent, _) in stats.items() if parent in parents}
    return found
