"""Replays transcripts: in this process step by step, or many of them in one job on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.api.environment import StreamExecutionEnvironment
from penstock.errors import ProgramError
from penstock.graph.steps import CollectStep
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.sources.splits import READ_LIMIT
from penstock.testing.comparison import Actual, Expected, differ, notation, side_by_side
from penstock.testing.local_run import LocalRun
from penstock.testing.scripted_source import Script
from penstock.testing.transcript import Step, Transcript
from penstock.testing.transcript_job import Jobs, build_outputs
from penstock.vocabulary.functions.process import ProcessFunction
from penstock.vocabulary.settings.configuration import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SparkReplay", "pytest_transcripts", "replay_on_spark", "run_transcript"]

_PROBE = "transcript result"
_MOST_ROUNDS = 10_000


def run_transcript(transcript: Transcript, *, jobs: Jobs | None = None, in_runs: bool = False) -> None:
    """Replay a transcript in this process; raises an ``AssertionError`` at the first step that is not as expected.

    Args:
        transcript: What to replay.
        jobs: The functions that ``job`` keys name, where they are not written as ``module:function``.
        in_runs: Hand the records of an input step over in one run, as a job under load gets them, instead of singly.
    """
    __tracebackhide__ = True  # the message says where; frames of ours would only hide it
    script = Script(run_length=READ_LIMIT if in_runs else 1)
    environment = StreamExecutionEnvironment(Configuration())
    environment.set_parallelism(1)
    for tag, stream in build_outputs(transcript, environment, script, jobs or {}).items():
        marked = stream.process(_WithTag(0, tag)).name(_PROBE)
        marked._sink("Collect", CollectStep(collection="transcript"))
    run = LocalRun.of(environment, transcript.name)
    try:
        replay = _LocalReplay(transcript, run, script)
        for step in transcript.steps:
            replay.do(step)
        replay.check_nothing_is_left()
    finally:
        run.close()


class _WithTag(ProcessFunction[Any, Any]):
    """Puts beside each record which transcript and which output it comes from, and its timestamp."""

    def __init__(self, number: int, tag: str) -> None:
        self._number = number
        self._tag = tag

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self._number, self._tag, value, ctx.timestamp()


class _LocalReplay:
    """The state of a replay in this process."""

    def __init__(self, transcript: Transcript, run: LocalRun, script: Script) -> None:
        self._transcript = transcript
        self._run = run
        self._script = script
        self._out: dict[str, list[Actual]] = {"": [], **{tag: [] for tag in transcript.side_outputs}}

    def do(self, step: Step) -> None:
        """Do or check what a step says."""
        __tracebackhide__ = True
        match step.kind:
            case "advance":
                self._run.advance(step.content)
                self._take()
            case "expect" | "expect_unordered":
                self._check(step, "", step.content, is_ordered=step.kind == "expect")
            case "expect_side":
                for tag, expected in step.content.items():
                    self._check(step, tag, expected)
            case "expect_watermark":
                actual = self._watermark()
                if actual != step.content:
                    _fail(self._transcript, step, f"expected watermark {step.content}, actual {actual}")
            case _:
                for channel, event in step.content:
                    self._script.add(channel, event)
                    if self._script.run_length == 1:
                        self._read_on(step)
                self._read_on(step)

    def check_nothing_is_left(self) -> None:
        """Make sure that every record that came out was expected."""
        __tracebackhide__ = True
        for tag, found in self._out.items():
            if found:
                place = f"side output {tag!r} has" if tag else "there are"
                _fail(self._transcript, None, f"{place} results that no step expects\n{side_by_side([], found)}")

    def _read_on(self, step: Step) -> None:
        for _ in range(_MOST_ROUNDS):
            has_worked = self._run.step()
            self._take()
            if not has_worked and self._script.is_read:
                return
        _fail(self._transcript, step, "the job does not come to rest")

    def _take(self) -> None:
        for _, tag, value, timestamp in self._run.collected.pop("transcript", []):
            self._out[tag].append(Actual(notation(value), timestamp))

    def _check(self, step: Step, tag: str, expected: Sequence[Expected], *, is_ordered: bool = True) -> None:
        __tracebackhide__ = True
        actual, self._out[tag] = self._out[tag], []
        _compare(self._transcript, step, tag, expected, actual, is_ordered=is_ordered)

    def _watermark(self) -> int:
        """Return the watermark that has reached the result, in its slowest subtask."""
        probes = [
            operator._service.watermark
            for task in self._run.tasks
            for subtask in task.subtasks.values()
            for operator in subtask.chain.operators
            if isinstance(operator, ProcessOperator) and operator.context.info.name == _PROBE
        ]
        return min(probes, default=MIN_TIMESTAMP)


class SparkReplay:
    """What came out of a transcript on Spark; ``check`` compares it."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.out: dict[str, list[Actual]] = {"": [], **{tag: [] for tag in transcript.side_outputs}}

    def check(self) -> None:
        """Raise an ``AssertionError`` if something else came out than the transcript expects.

        The expectations of all steps follow one another. With a parallelism above 1 the order between subtasks is
        free, and so all of it is compared without regard to order.
        """
        __tracebackhide__ = True
        is_free = self.transcript.parallelism > 1
        main = [step for step in self.transcript.steps if step.kind in ("expect", "expect_unordered")]
        if is_free:
            everything = [record for step in main for record in step.content]
            _compare(self.transcript, None, "", everything, self.out[""], is_ordered=False)
        else:
            self._check_in_order(main)
        for tag in self.transcript.side_outputs:
            steps = [step for step in self.transcript.steps if step.kind == "expect_side"]
            expected = [record for step in steps for record in step.content.get(tag, ())]
            _compare(self.transcript, None, tag, expected, self.out[tag], is_ordered=not is_free)

    def _check_in_order(self, steps: list[Step]) -> None:
        __tracebackhide__ = True
        left = self.out[""]
        for number, step in enumerate(steps, start=1):
            size = len(left) if number == len(steps) else len(step.content)
            taken, left = left[:size], left[size:]
            _compare(self.transcript, step, "", step.content, taken, is_ordered=step.kind == "expect")
        _compare(self.transcript, None, "", [], left)


def replay_on_spark(
    transcripts: Iterable[Transcript],
    *,
    jobs: Jobs | None = None,
    environment: StreamExecutionEnvironment | None = None,
) -> list[SparkReplay]:
    """Replay transcripts as independent pipelines of one job on Spark; return what came out of each, in their order."""
    environment = environment or StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    # A step of a script must be on its way before the next one is taken: else channels would overtake each other.
    environment.set_buffer_timeout(0)
    replays: list[SparkReplay] = []
    streams: list[Any] = []
    for number, transcript in enumerate(transcripts):
        if reason := transcript.why_not_on_spark():
            message = f"{transcript} cannot be replayed on Spark. {reason}"
            raise ProgramError(message)
        script = Script(run_length=READ_LIMIT)
        for channel, event in transcript.events():
            script.add(channel, event)
        replays.append(SparkReplay(transcript))
        for tag, stream in build_outputs(transcript, environment, script, jobs or {}).items():
            streams.append(stream.process(_WithTag(number, tag)).set_parallelism(1))
    if streams:
        merged = streams[0].union(*streams[1:])
        for number, tag, value, timestamp in merged.execute_and_collect("transcripts"):
            replays[number].out[tag].append(Actual(notation(value), timestamp))
    return replays


def pytest_transcripts(path: str | Path, *, on_spark: bool = False) -> Any:
    """Return a decorator that gives a test every transcript of a file or directory as ``transcript``.

    With ``on_spark`` it gives those only that Spark can replay: the others need a clock that a test can move.
    """
    import pytest

    place = Path(path)
    files = sorted(place.rglob("*.yaml")) if place.is_dir() else [place]
    found = [transcript for file in files for transcript in Transcript.load_all(file)]
    if not found:
        message = f"There is no transcript in {path}."
        raise ProgramError(message)
    chosen = [transcript for transcript in found if not on_spark or transcript.why_not_on_spark() is None]
    return pytest.mark.parametrize("transcript", chosen, ids=[transcript.name for transcript in chosen])


def _compare(
    transcript: Transcript,
    step: Step | None,
    tag: str,
    expected: Sequence[Expected],
    actual: Sequence[Actual],
    *,
    is_ordered: bool = True,
) -> None:
    __tracebackhide__ = True
    if differ(expected, actual, is_ordered=is_ordered):
        place = f"side output {tag!r}: " if tag else ""
        _fail(
            transcript,
            step,
            f"{place}other results than expected\n{side_by_side(expected, actual, is_ordered=is_ordered)}",
        )


def _fail(transcript: Transcript, step: Step | None, problem: str) -> NoReturn:
    __tracebackhide__ = True
    where = f"\nat {step}" if step is not None else ""
    message = f"{transcript}{where}\n{problem}"
    raise AssertionError(message)
