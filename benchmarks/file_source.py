"""How fast files are read: a text file, counted by key, by penstock and by a program written by hand for exactly that.

``python -m benchmarks.file_source`` writes a file, has both read it in turn with the same number of processes (as many
readers as counters), checks that their results are equal, prints a table and keeps the numbers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import ledger, report
from benchmarks.systems.handwritten import Inbox, Outbox
from benchmarks.systems.handwritten_tasks import count_task
from benchmarks.systems.penstock import Count
from benchmarks.systems.penstock_steps import Sink
from penstock import MapFunction, StreamExecutionEnvironment

KEYS = 1_000
BATCH = 4_000
BLOCK = 1 << 20
GOAL = 0.5
_HISTORY = Path(__file__).parent / "history"
_forking = multiprocessing.get_context("fork")


def write_input(path: Path, lines: int) -> None:
    """Writes lines of a key, a number and some text."""
    with path.open("w", encoding="utf-8") as file:
        for low in range(0, lines, 100_000):
            numbers = range(low, min(low + 100_000, lines))
            file.writelines(f"user-{number % KEYS},{number},a reading of some length\n" for number in numbers)


def expected(lines: int) -> tuple[int, int]:
    """Returns how many running counts there are, and their sum."""
    counts = [len(range(key, lines, KEYS)) for key in range(KEYS)]
    return lines, sum(count * (count + 1) // 2 for count in counts)


def run_penstock(path: Path, parallelism: int, directory: str) -> None:
    """Counts with penstock."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    keys = env.read_text_file(str(path)).map(KeyOf(directory))
    keys.key_by(lambda key: key).process(Count()).add_sink(Sink(directory, marks=False))
    env.execute("file source")


class KeyOf(MapFunction):
    """Takes the key from a line."""

    def __init__(self, directory: str) -> None:
        self._directory, self._is_fresh = directory, True

    def map(self, value: str) -> str:
        if self._is_fresh:
            self._is_fresh = False
            ledger.stamp_entry(self._directory)
        return value.partition(",")[0]


def run_by_hand(path: Path, parallelism: int, directory: str) -> None:
    """Counts with plain processes and pipes of pickled batches."""
    grid = [[_forking.Pipe(duplex=False) for _ in range(parallelism)] for _ in range(parallelism)]
    size = path.stat().st_size
    bounds = [size * number // parallelism for number in range(parallelism + 1)]
    everyone_ready = _forking.Barrier(2 * parallelism)
    tasks: list[Any] = []
    for number, row in enumerate(grid):
        outbox = Outbox([writer for _, writer in row])
        tasks.append(partial(_read, path, bounds[number], bounds[number + 1], directory, outbox, parallelism))
    for number in range(parallelism):
        inbox = [row[number][0] for row in grid]
        tasks.append(partial(_count, directory, inbox))
    processes = [_forking.Process(target=_begin, args=(everyone_ready, task), daemon=True) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            message = f"a process of the hand-written program ended with code {process.exitcode}"
            raise RuntimeError(message)


def _begin(everyone_ready: Any, task: Any) -> None:
    everyone_ready.wait()
    task()


def _count(directory: str, inbox: list[Any]) -> None:
    count_task(directory, inbox=Inbox(inbox))


def _read(path: Path, start: int, end: int, directory: str, outbox: Outbox, targets: int) -> None:
    """Reads the lines that begin in a range and sends each key to its process."""
    ledger.stamp_entry(directory)
    buffers: list[list[str]] = [[] for _ in range(targets)]
    # Not hash(): every reader must agree.
    target_of = {f"user-{key}": key % targets for key in range(KEYS)}
    for lines in _lines(path, start, end):
        for line in lines:
            key = line.partition(",")[0]
            buffers[target_of[key]].append(key)
        for target, buffer in enumerate(buffers):
            if len(buffer) >= BATCH:
                outbox.send(target, buffer)
                buffers[target] = []
    for target, buffer in enumerate(buffers):
        outbox.send(target, buffer)
    outbox.close()


def _lines(path: Path, start: int, end: int) -> Iterator[list[str]]:
    with path.open("rb") as file:
        if start:
            file.seek(start - 1)
            start += len(file.readline()) - 1
        left = end - start
        while left > 0:
            block = file.read(min(BLOCK, left)) + file.readline()
            left -= len(block)
            lines = block.decode().split("\n")
            if not lines[-1]:
                lines.pop()
            yield lines


SYSTEMS = {"handwritten": run_by_hand, "penstock": run_penstock}


def measure(path: Path, lines: int, parallelism: int, system: str) -> float:
    """Returns the seconds from the first line to the last result, after checking the results."""
    with tempfile.TemporaryDirectory() as directory:
        SYSTEMS[system](path, parallelism, directory)
        reading = ledger.read(directory)
    if (reading.results, reading.total) != expected(lines):
        message = f"{system}: {reading.results} results with the sum {reading.total}, not {expected(lines)}"
        raise RuntimeError(message)
    return reading.seconds


def main(arguments: list[str] | None = None) -> int:
    """Measures as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.file_source", description=__doc__)
    parser.add_argument("--lines", type=int, default=4_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=_HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-file-source.json")
    options = parser.parse_args(arguments)
    seconds: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    with tempfile.TemporaryDirectory() as place:
        small, path = Path(place, "small.txt"), Path(place, "lines.txt")
        write_input(small, options.lines // 20)
        write_input(path, options.lines)
        for system in SYSTEMS:
            measure(small, options.lines // 20, options.parallelism, system)
        for _ in range(options.repeats):
            for system, mine in seconds.items():
                mine.append(measure(path, options.lines, options.parallelism, system))
                print(f"{system:12} {options.lines / mine[-1]:12,.0f} lines/s", flush=True)
    ratios = [hand / mine for hand, mine in zip(seconds["handwritten"], seconds["penstock"], strict=True)]
    ratio = statistics.median(ratios)
    print(f"penstock reaches {ratio:.2f} of the hand-written program (goal {GOAL}); results equal")
    document = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": report.commit(),
        "machine": report.machine(),
        "lines": options.lines,
        "parallelism": options.parallelism,
        "seconds": seconds,
        "ratio": ratio,
        "goal": GOAL,
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written: {options.output}")
    StreamExecutionEnvironment.get_execution_environment().close()
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
