"""Functions that write down when they are opened, when they fail and when they are closed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import MapFunction, RuntimeContext, SinkFunction, SourceFunction
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

__all__ = ["Diary", "FailingReader", "FailingSink", "FailingSource", "Watched"]


NEVER = "no record is like this one"


@dataclass(frozen=True)
class Diary:
    """A file that functions in other processes append lines to."""

    path: Path

    def write(self, line: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def lines(self, start: str) -> list[str]:
        """Returns the rest of the lines that start with a word."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [line[len(start) + 1 :] for line in text.splitlines() if line.startswith(f"{start} ")]

    def fail(self, message: str) -> None:
        """Writes down the time and raises."""
        self.write(f"failed {time.time()}")
        raise ValueError(message)

    def seconds_since_failure(self) -> float:
        return time.time() - float(self.lines("failed")[-1])

    def check_closed(self, opened: int | None = None) -> None:
        """Checks that so many functions were opened and each of them was closed exactly once."""
        if opened is not None:
            assert len(self.lines("open")) == opened
        assert sorted(self.lines("close")) == sorted(self.lines("open"))


class Watched(MapFunction):
    """Passes records on; fails in ``open``, or at a record."""

    def __init__(self, diary: Diary, name: str, *, fails_in_open: bool = False, fails_at: Any = NEVER) -> None:
        self.diary = diary
        self.name = name
        self.fails_in_open = fails_in_open
        self.fails_at = fails_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.label = f"{self.name} {runtime_context.get_index_of_this_subtask()}"
        self.label += f" attempt {runtime_context.get_attempt_number()}"
        self.diary.write(f"open {self.label}")
        if self.fails_in_open:
            self.diary.fail("no connection in open")

    def map(self, value: Any) -> Any:
        if value == self.fails_at:
            self.diary.fail(f"bad record {value}")
        return value

    def close(self) -> None:
        self.diary.write(f"close {self.label}")


class FailingSink(SinkFunction):
    """Fails at a record."""

    def __init__(self, diary: Diary, fails_at: Any) -> None:
        self.diary = diary
        self.fails_at = fails_at

    def invoke(self, value: Any, context: Any) -> None:
        if value == self.fails_at:
            self.diary.fail("disk full")


class FailingSource(SourceFunction):
    """Emits some numbers and fails."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for number in range(10):
            ctx.collect(number)
        self.diary.fail("source went away")

    def cancel(self) -> None:
        pass


class FailingReader(Source[int]):
    """A source whose reader fails at the third call."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(self, diary: Diary) -> None:
        self.diary = diary

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit("only")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return _Reader(self.diary)


class _Reader(SplitReader[int]):
    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        self.calls = 0

    def read(self, limit: int) -> tuple[list[int], None]:
        self.calls += 1
        if self.calls == 3:
            self.diary.fail("reader went away")
        return [self.calls], None

    def position(self) -> int:
        return self.calls
