"""Transcripts: readable YAML files that say what goes into a job, how time passes, and what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import yaml

from penstock.errors import ProgramError
from penstock.testing.comparison import Expected, notation
from penstock.testing.scripted_source import Event, EventKind
from penstock.vocabulary.time.durations import parse_duration
from penstock.vocabulary.time.generators import MAX_WATERMARK, MIN_TIMESTAMP

__all__ = ["ONLY_CHANNEL", "Step", "Transcript", "millis"]

ONLY_CHANNEL = "input"
"""The name of the channel of a transcript that names none."""

_INPUT_STEPS = frozenset({"input", "watermark", "idle", "end"})
_STEPS = _INPUT_STEPS | {"advance", "expect", "expect_unordered", "expect_side", "expect_watermark"}
_JOB_KEYS = frozenset(
    {"key", "window", "trigger", "evictor", "allowed_lateness", "late", "function", "value", "job"}
    | {"sum", "min", "max", "min_by", "max_by", "pattern", "conditions", "timed_out"}
)
_KEYS = _JOB_KEYS | {"name", "about", "streams", "splits", "timestamp", "watermarks", "parallelism", "steps"}
_BOUNDS = {"min": MIN_TIMESTAMP, "max": MAX_WATERMARK}
_CLOCK = "which needs a clock that a test can move"


@dataclass(frozen=True)
class Step:
    """One line of a transcript.

    ``content`` is, by kind: the events of an input step as ``(channel, event)`` pairs, the milliseconds of an advance,
    the list of expected records, the expected records by side output, or the expected watermark.
    """

    number: int
    kind: str
    content: Any
    line: int
    text: str

    def __str__(self) -> str:
        return f"step {self.number} (line {self.line}): {self.text}"


@dataclass(frozen=True, repr=False)
class Transcript:
    """A job, what happens to it, and what must come out.

    Attributes:
        name: What tests are called by.
        settings: How the job is made: the keys of the file other than its name and its steps.
        steps: What happens, in order.
        path: The file, if it came from one.
    """

    name: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]
    path: str = ""
    channels: tuple[str, ...] = field(default=(ONLY_CHANNEL,))

    @staticmethod
    def load(path: str | Path) -> Transcript:
        """Read the transcript in a file."""
        found = Transcript.load_all(path)
        if len(found) != 1:
            message = f"{path} holds {len(found)} transcripts, not one: use load_all()."
            raise ProgramError(message)
        return found[0]

    @staticmethod
    def load_all(path: str | Path) -> list[Transcript]:
        """Read all transcripts in a file, which ``---`` separates."""
        file = Path(path)
        return _read(file.read_text(encoding="utf-8"), str(path), file.stem)

    @staticmethod
    def parse(text: str, name: str = "transcript") -> Transcript:
        """Read the transcript in a text."""
        found = _read(text, "", name)
        if len(found) != 1:
            message = f"The text holds {len(found)} transcripts, not one."
            raise ProgramError(message)
        return found[0]

    @property
    def parallelism(self) -> int:
        """Return the parallelism of the step that makes the results."""
        return int(self.settings.get("parallelism", 1))

    @property
    def has_time(self) -> bool:
        """Tell whether records have timestamps or watermarks occur."""
        return (
            "watermarks" in self.settings
            or "timestamp" in self.settings
            or any(event.timestamp is not None or event.kind is EventKind.IDLE for _, event in self.events())
        )

    @property
    def side_outputs(self) -> tuple[str, ...]:
        """Return the tags of the side outputs that the transcript looks at."""
        tags = {tag: None for step in self.steps if step.kind == "expect_side" for tag in step.content}
        return tuple(tags)

    def events(self) -> list[tuple[str, Event]]:
        """Return everything that goes in, each with its channel."""
        return [pair for step in self.steps if step.kind in _INPUT_STEPS for pair in step.content]

    def why_not_on_spark(self) -> str | None:
        """Return why the transcript can only be replayed in this process; ``None`` if Spark can replay it too."""
        for step in self.steps:
            if step.kind == "advance":
                return f"{step} moves the clock, {_CLOCK}."
            if step.kind == "expect_watermark":
                return f"{step} looks at the watermark between two inputs, where a running job is never looked at."
        if _says_processing_time(self.settings):
            return f"The windows are in processing time, {_CLOCK}."
        watermarks = self.settings.get("watermarks")
        if isinstance(watermarks, Mapping) and not watermarks.keys().isdisjoint({"periodic", "idle_after"}):
            return f"The watermarks depend on the clock, {_CLOCK}."
        if {channel for channel, event in self.events() if event.kind is EventKind.END} != set(self.channels):
            return "The transcript does not end its input, but a job on Spark is compared when it has ended."
        return None

    def __str__(self) -> str:
        return f"{self.name} ({self.path})" if self.path else self.name

    def __repr__(self) -> str:
        return f"Transcript({self})"


def millis(value: Any) -> int:
    """Return a point or length of time in a transcript as milliseconds: a number, or a text such as ``5 s``."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        message = f"{value!r} is not a time: write milliseconds, or a number and a unit such as 5 s."
        raise ProgramError(message)
    return value if isinstance(value, int) else _BOUNDS[value] if value in _BOUNDS else parse_duration(value)


def _read(text: str, path: str, stem: str) -> list[Transcript]:
    loader = yaml.SafeLoader(text)
    found: list[Transcript] = []
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None
            found.append(_Reader(loader.construct_document(node), _lines(node), path or stem).read(path, stem))
    except yaml.YAMLError as error:
        message = f"{path or stem} is not YAML: {error}"
        raise ProgramError(message) from error
    finally:
        loader.dispose()
    return found


def _lines(node: yaml.Node) -> list[list[int]]:
    """Return, for each entry under ``steps``, the lines on which its keys stand."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "steps" and isinstance(value, yaml.SequenceNode):
                return [_lines_of_entry(entry) for entry in value.value]
    return []


def _lines_of_entry(entry: yaml.Node) -> list[int]:
    keys = [key for key, _ in entry.value] if isinstance(entry, yaml.MappingNode) else [entry]
    return [key.start_mark.line + 1 for key in keys]


def _says_processing_time(settings: Mapping[str, Any]) -> bool:
    window = settings.get("window")
    return isinstance(window, Mapping) and window.get("time") == "processing"


class _Reader:
    """Turns one YAML document into a transcript."""

    def __init__(self, document: Any, lines: list[list[int]], place: str) -> None:
        self._lines = lines
        self._place = place
        if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
            self._refuse("a transcript is a mapping with a list under the key `steps`")
        if unknown := sorted(set(map(str, document)) - _KEYS):
            self._refuse(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
        self._document: dict[str, Any] = document
        self._channels = tuple(document.get("streams") or document.get("splits") or (ONLY_CHANNEL,))
        if "streams" in document and "splits" in document:
            self._refuse("a transcript has streams or splits, not both")
        if "job" in document and (clash := sorted(_JOB_KEYS & document.keys() - {"job"})):
            self._refuse(f"the key {clash[0]!r} says nothing where a job of its own is given")

    def read(self, path: str, stem: str) -> Transcript:
        """Return the transcript."""
        steps: list[Step] = []
        for entry, lines in zip(self._document["steps"], self._lines, strict=True):
            if not isinstance(entry, dict):
                self._refuse(f"line {lines[0]}: a step is a mapping such as `- watermark: 5000`")
            for (kind, content), line in zip(entry.items(), lines, strict=True):
                steps.append(self._step(len(steps) + 1, str(kind), content, line))
        settings = {key: value for key, value in self._document.items() if key not in ("name", "about", "steps")}
        return Transcript(str(self._document.get("name", stem)), settings, tuple(steps), path, self._channels)

    def _step(self, number: int, kind: str, content: Any, line: int) -> Step:
        if kind not in _STEPS:
            self._refuse(f"line {line}: unknown step {kind!r}; there are {', '.join(sorted(_STEPS))}")
        try:
            meaning = self._meaning(kind, content)
        except (ValueError, TypeError, LookupError) as error:
            self._refuse(f"line {line}: {kind}: {error}")
        return Step(number, kind, meaning, line, f"{kind}: {_short(notation(content))}")

    def _meaning(self, kind: str, content: Any) -> Any:
        match kind:
            case "input":
                return [
                    (channel, self._record(record))
                    for channel, records in self._by_channel(content)
                    for record in _list(records)
                ]
            case "watermark":
                return [
                    (channel, Event(EventKind.WATERMARK, None, millis(time)))
                    for channel, time in self._by_channel(content)
                ]
            case "idle" | "end":
                ending = EventKind.IDLE if kind == "idle" else EventKind.END
                return [(channel, Event(ending)) for channel in self._named(content)]
            case "advance" | "expect_watermark":
                return millis(content)
            case "expect_side":
                return {str(tag): [_expected(record) for record in _list(found)] for tag, found in content.items()}
            case _:
                return [_expected(record) for record in _list(content)]

    def _by_channel(self, content: Any) -> list[tuple[str, Any]]:
        if self._channels == (ONLY_CHANNEL,):
            return [(ONLY_CHANNEL, content)]
        if not isinstance(content, dict):
            message = f"say for which of {', '.join(self._channels)}, as in {{{self._channels[0]}: ...}}"
            raise ProgramError(message)
        return [(self._known(channel), part) for channel, part in content.items()]

    def _named(self, content: Any) -> list[str]:
        if content is True:
            return list(self._channels)
        return [self._known(channel) for channel in (content if isinstance(content, list) else [content])]

    def _known(self, channel: Any) -> str:
        if channel not in self._channels:
            message = f"there is no channel {channel!r}, only {', '.join(self._channels)}"
            raise ProgramError(message)
        return str(channel)

    def _record(self, record: Any) -> Event:
        if _is_stamped(record):
            at = record.get("at")
            return Event(EventKind.RECORD, _tuples(record["value"]), None if at is None else millis(at))
        value = _tuples(record)
        rule = self._document.get("timestamp")
        if rule is None:
            return Event(EventKind.RECORD, value)
        name, unit = (rule["field"], millis(f"1 {rule['unit']}")) if isinstance(rule, dict) else (rule, 1)
        # Decimal, because 23.2 seconds are 23200 milliseconds.
        return Event(EventKind.RECORD, value, int(Decimal(str(value[name])) * unit))

    def _refuse(self, problem: str) -> NoReturn:
        message = f"{self._place}: {problem}."
        raise ProgramError(message)


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        message = f"a list is needed, not {content!r}"
        raise ProgramError(message)
    return content


def _is_stamped(record: Any) -> bool:
    return isinstance(record, dict) and "value" in record and record.keys() <= {"value", "at"}


def _expected(record: Any) -> Expected:
    if _is_stamped(record):
        return Expected(notation(record["value"]), millis(record["at"]) if "at" in record else None)
    return Expected(notation(record))


def _tuples(value: Any) -> Any:
    """Return the value with tuples for lists: records are tuples, and keys must be hashable."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value


def _short(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87]}..."
