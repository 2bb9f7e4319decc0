"""The command: ``python -m benchmarks.profile JOB`` says where the time of a job on penstock goes, per record and hop.

py-spy samples every process of the job from outside. A sample counts for the innermost frame that says what the time
was spent on: C functions, the accelerator's too, count for their callers, the standard library for whoever called it.
All that the JVM does is transport; its processor time is read from the system.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from benchmarks.catalogue import JOBS, choose_jobs
from benchmarks.processors import processor_times
from benchmarks.report import commit, machine

_ROOT = Path(__file__).parent.parent
_HISTORY = Path(__file__).parent / "history"
CATEGORIES = (
    "user code",
    "state",
    "timers",
    "operators",
    "routing",
    "encoding",
    "Spark transport",
    "decoding",
    "loop",
)
"""What a process can be busy with; the rest of its time is idle."""

_PLACES = (
    ("penstock/statestore/", "state"),
    ("penstock/runtime/time/timers.py", "timers"),
    ("penstock/runtime/time/timer_service.py", "timers"),
    ("penstock/runtime/exchange/partitioners.py", "routing"),
    ("penstock/runtime/exchange/writer.py", "routing"),
    ("penstock/foundation/keys/", "routing"),
    ("penstock/runtime/task/loop.py", "loop"),
    ("penstock/runtime/task/task.py", "loop"),
    ("penstock/runtime/task/subtask.py", "loop"),
    ("penstock/runtime/", "operators"),
    ("penstock/vocabulary/", "operators"),
    ("penstock/execution/spark/", "Spark transport"),
    ("benchmarks/", "user code"),
    ("serializers.py", "Spark transport"),
    ("worker.py", "Spark transport"),
    ("pyarrow/", "Spark transport"),
)


@dataclass(frozen=True)
class Stack:
    """One stack that was seen: its process, its frames from the outermost to the innermost, and how often."""

    process: str
    frames: tuple[str, ...]
    samples: int


def read_stacks(text: str) -> list[Stack]:
    """Reads py-spy's raw form: frames joined by semicolons, processes in front, the number of samples at the end."""
    stacks = []
    for line in text.splitlines():
        joined, _, samples = line.rpartition(" ")
        parts = joined.split(";")
        processes = [place for place, part in enumerate(parts) if part.startswith("process ")]
        if processes and samples.isdigit():
            owner = parts[processes[-1]].split(":")[0]
            stacks.append(Stack(owner, tuple(parts[processes[-1] + 1 :]), int(samples)))
    return stacks


def category(frames: tuple[str, ...]) -> str | None:
    """Returns what a stack was busy with; nothing for a stack outside of the task, such as start-up."""
    if not any("run_task" in frame or "dump_stream" in frame or "InboxReader" in frame for frame in frames):
        return None
    if frames[-1].startswith("Condition.wait"):
        return None  # idle: waits for input or for room
    for frame in reversed(frames):
        function, _, place = frame.rpartition(" (")
        if place.startswith("penstock/runtime/exchange/codec.py"):
            return "decoding" if function.endswith("decode") else "encoding"
        for beginning, name in _PLACES:
            if place.startswith(beginning):
                return name
    return None


def hops(stacks: list[Stack]) -> dict[str, Counter[str]]:
    """Adds up the samples per hop and category: processes that read sources, those in the middle, those at the end."""
    by_process: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sources = set()
    for stack in stacks:
        name = category(stack.frames)
        if name is not None:
            by_process[stack.process][name] += stack.samples
            if any("penstock/runtime/source" in frame for frame in stack.frames):
                sources.add(stack.process)
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for process, counted in by_process.items():
        is_middle = counted["encoding"] > 0 and process not in sources
        hop = "source side" if process in sources else "middle" if is_middle else "last hop"
        found[hop] += counted
        found[hop]["processes"] += 1
    return {hop: found[hop] for hop in ("source side", "middle", "last hop") if hop in found}


def per_record(
    found: dict[str, Counter[str]], *, records: int, seconds: float, rate: int
) -> dict[str, dict[str, float]]:
    """Returns nanoseconds per record of the job, by hop and category, idle time included."""
    table: dict[str, dict[str, float]] = {}
    for hop, counted in found.items():
        times = {name: counted[name] / rate / records * 1e9 for name in CATEGORIES}
        whole = counted["processes"] * seconds / records * 1e9
        table[hop] = {name: round(value) for name, value in times.items()}
        table[hop]["idle"] = round(max(0.0, whole - sum(times.values())))
    return table


def markdown(job: str, table: dict[str, dict[str, float]]) -> str:
    """Renders a table: one row per category, one column per hop."""
    lines = [f"| {job}, ns per record | {' | '.join(table)} |", f"|---|{'---|' * len(table)}"]
    for name in (*CATEGORIES, "idle"):
        cells = [f"{table[hop][name]:.0f}" if name in table[hop] else "" for hop in table]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def profile(job: str, records: int, *, parallelism: int, rate: int) -> dict[str, dict[str, float]]:
    """Runs a job under py-spy and returns its table."""
    spy = Path(sys.executable).with_name("py-spy")
    with tempfile.TemporaryDirectory(prefix="profile-") as scratch:
        raw, result = Path(scratch, "stacks.txt"), Path(scratch, "result.json")
        command = [
            *(str(spy), "record", "--rate", str(rate), "--subprocesses", "--format", "raw", "--output", str(raw), "--"),
            *(sys.executable, "-m", "benchmarks.systems.penstock", "--job", job, "--records", str(records)),
            *("--parallelism", str(parallelism), "--output", str(result)),
        ]
        variables = os.environ | {"PYTHONPATH": str(_ROOT), "PYTHONHASHSEED": "0"}
        log = Path(scratch, "log.txt")
        with log.open("w") as stream:
            process = subprocess.Popen(command, cwd=_ROOT, env=variables, stdout=stream, stderr=subprocess.STDOUT)
            used = _watch_jvm(process)
        if not (raw.exists() and result.exists()):
            message = f"the job did not end well under py-spy; it printed:\n{log.read_text()[-2_000:]}"
            raise RuntimeError(message)
        measured = json.loads(result.read_text())
        found = hops(read_stacks(raw.read_text()))
    table = per_record(found, records=records, seconds=measured["seconds"], rate=rate)
    began, ended = measured["span_ns"]
    table["JVM"] = {"Spark transport": round((_at(used, ended) - _at(used, began)) / records * 1e9)}
    return table


def _watch_jvm(process: subprocess.Popen[bytes]) -> list[tuple[int, float]]:
    """Returns, for many moments until the job ends, the processor seconds that the JVM has used."""
    used = [(time.monotonic_ns(), 0.0)]
    while process.poll() is None:
        seconds = sum(spent for kind, spent in processor_times(process.pid).values() if kind == "JVM")
        used.append((time.monotonic_ns(), max(seconds, used[-1][1])))
        time.sleep(0.1)
    return used


def _at(used: list[tuple[int, float]], moment: int) -> float:
    """Returns the processor seconds used by a moment, on a straight line between two readings."""
    for (before, less), (after, more) in pairwise(used):
        if before <= moment <= after:
            return less + (more - less) * (moment - before) / (after - before)
    return used[-1][1]


def main(arguments: list[str] | None = None) -> int:
    """Profiles the jobs of the command line and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("jobs", help=f"comma-separated, of {', '.join(job.name for job in JOBS if not job.is_latency)}")
    parser.add_argument("--records", type=int, help="records per job; those of the benchmark's full size if left out")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--rate", type=int, default=100, help="samples per second and process (100)")
    parser.add_argument("--output", type=Path, help="JSON file; benchmarks/history/<date>-<commit>-profile.json")
    options = parser.parse_args(arguments)
    tables = {}
    for job in choose_jobs(options.jobs):
        records = options.records or job.records
        tables[job.name] = profile(job.name, records, parallelism=options.parallelism, rate=options.rate)
        print(f"{markdown(job.name, tables[job.name])}\n", flush=True)
    path = options.output or _HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-{commit()}-profile.json"
    document = {"commit": commit(), "machine": machine(), "ns per record": tables}
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
