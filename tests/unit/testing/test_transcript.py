"""How transcripts are read, what they refuse, and how they show a difference."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.testing import Transcript, pytest_transcripts, replay_on_spark, run_transcript
from penstock.testing.comparison import notation
from penstock.testing.scripted_source import Event, EventKind
from penstock.vocabulary.types.rows import Row

SUMS = """
    name: sums
    key: 0
    window: {tumbling: 5 s}
    sum: 1
    steps:
      - input: [{value: [a, 1], at: 1 s}, {value: [a, 2], at: 4 s}]
      - watermark: 4999
      - expect: [[a, 3]]
      - end: true
"""


def transcript(text: str) -> Transcript:
    return Transcript.parse(textwrap.dedent(text))


def failure(text: str, **arguments: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        run_transcript(transcript(text), **arguments)
    return str(caught.value)


def test_what_goes_in() -> None:
    found = transcript(SUMS)
    assert found.name == "sums"
    assert found.events() == [
        ("input", Event(EventKind.RECORD, ("a", 1), 1000)),
        ("input", Event(EventKind.RECORD, ("a", 2), 4000)),
        ("input", Event(EventKind.WATERMARK, None, 4999)),
        ("input", Event(EventKind.END)),
    ]
    run_transcript(found)
    run_transcript(found, in_runs=True)


def test_timestamps_from_a_field() -> None:
    found = transcript("""
        timestamp: {field: ts, unit: s}
        steps:
          - input: [{ts: 23.2, level: 1}]
    """)
    assert found.events() == [("input", Event(EventKind.RECORD, {"ts": 23.2, "level": 1}, 23_200))]


def test_several_keys_in_a_step_happen_in_their_order() -> None:
    steps = transcript("""
        steps:
          - {input: [1], expect: [1]}
          - {expect: [], end: true}
    """).steps
    assert [(step.number, step.kind) for step in steps] == [(1, "input"), (2, "expect"), (3, "expect"), (4, "end")]


def test_a_difference_shows_the_step_and_both_sides() -> None:
    message = failure(SUMS.replace("[[a, 3]]", "[[a, 3], [b, 1]]"))
    assert message.splitlines() == [
        "sums",
        "at step 3 (line 9): expect: [[a, 3], [b, 1]]",
        "other results than expected",
        "    expected  | actual",
        "    [a, 3]    | [a, 3]",
        "  ! [b, 1]    | (nothing)",
    ]


def test_a_result_that_nobody_expects_fails() -> None:
    message = failure(SUMS.replace("- expect: [[a, 3]]\n", "- advance: 0\n"))
    assert "there are results that no step expects" in message
    assert "! (nothing) | [a, 3]" in message


def test_a_missing_side_output_is_named() -> None:
    message = failure("""
        window: {tumbling: 5 s}
        late: late
        function: count
        steps:
          - {watermark: 5000, input: [{value: x, at: 1 s}]}
          - expect_side: {late: [y]}
    """)
    assert "side output 'late': other results than expected" in message
    assert "! y         | x" in message


def test_timestamps_are_compared_where_they_are_given() -> None:
    run_transcript(transcript(SUMS.replace("[[a, 3]]", "[{value: [a, 3], at: 4999}]")))
    message = failure(SUMS.replace("[[a, 3]]", "[{value: [a, 3], at: 5000}]"))
    assert "! [a, 3] @ 5000 | [a, 3] @ 4999" in message


def test_order_matters_unless_it_is_free() -> None:
    text = """
        steps:
          - {input: [1, 2], %s: [2, 1]}
    """
    run_transcript(transcript(text % "expect_unordered"))
    assert "! 2         | 1" in failure(text % "expect")
    assert failure(text.replace("[2, 1]", "[2, 3]") % "expect_unordered").splitlines()[-2:] == [
        "    2         | 2",
        "  ! 3         | 1",
    ]


def test_the_watermark_of_the_result() -> None:
    text = """
        steps:
          - {watermark: 17, expect_watermark: %d}
    """
    run_transcript(transcript(text % 17))
    assert "expected watermark 18, actual 17" in failure(text % 18)


def test_a_number_is_not_a_text_and_a_float_is_not_an_int() -> None:
    assert notation(1) == "1"
    assert notation(1.0) == "1.0"
    assert notation("1") == "'1'"
    assert notation(True) == "true"
    assert notation(("a", [None, Row(1, "b")])) == "[a, [null, [1, b]]]"
    assert notation({"b": {2, 1}, "a": "张三"}) == "{a: 张三, b: [1, 2]}"
    assert "! 1.0       | 1" in failure("steps: [{input: [1], expect: [1.0]}]")


def test_a_job_by_name() -> None:
    text = "{job: doubled, steps: [{input: [1], expect: [2]}]}"
    run_transcript(transcript(text), jobs={"doubled": lambda stream: stream.map(lambda number: 2 * number)})
    with pytest.raises(ProgramError, match="there is no job 'doubled'"):
        run_transcript(transcript(text))


def test_a_job_gets_a_stream_per_channel() -> None:
    text = "{streams: [a, b], job: marked, steps: [{input: {b: [1], a: [2]}, expect: [b1, a2]}]}"

    def marked(first: Any, second: Any) -> Any:
        return first.map(lambda value: f"a{value}").union(second.map(lambda value: f"b{value}"))

    run_transcript(transcript(text), jobs={"marked": marked})


def test_parallel_results() -> None:
    run_transcript(
        transcript("""
            key: 0
            sum: 1
            parallelism: 3
            steps:
              - {input: [[a, 1], [b, 1], [c, 1], [a, 1]], expect_unordered: [[a, 1], [b, 1], [c, 1], [a, 2]]}
              - end: true
        """)
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- 1", "a transcript is a mapping with a list under the key `steps`"),
        ("{widnow: 5 s, steps: []}", "unknown key 'widnow'"),
        ("{steps: [{inptu: [1]}]}", "line 1: unknown step 'inptu'"),
        ("{steps: [input]}", "line 1: a step is a mapping"),
        ("{steps: [{input: 1}]}", "a list is needed, not 1"),
        ("{steps: [{watermark: soon}]}", "'soon' is not a length of time"),
        ("{steps: [{advance: 1.5}]}", "1.5 is not a time"),
        ("{streams: [a, b], steps: [{input: [1]}]}", "say for which of a, b"),
        ("{streams: [a, b], steps: [{idle: c}]}", "there is no channel 'c', only a, b"),
        ("{streams: [a], splits: [b], steps: []}", "streams or splits, not both"),
        ("{job: x, key: 0, steps: []}", "the key 'key' says nothing where a job of its own is given"),
        ("{steps: [}", "is not YAML"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Transcript.parse(text)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{window: {tumbling: 5 s}, steps: []}", "windows need one of function"),
        ("{window: {tumbling: 5 s}, function: median, steps: []}", "a function shows key, start"),
        ("{window: {tumbling: 5 s}, function: watermark, steps: []}", "cannot show its watermark"),
        ("{window: {rolling: 5 s}, function: count, steps: []}", "a window is tumbling, sliding"),
        ("{window: global, trigger: often, function: count, steps: []}", "a trigger is count"),
        ("{watermarks: sometimes, steps: [{input: [{value: 1, at: 1}]}]}", "watermarks are ascending"),
        ("{function: count, steps: []}", "a function needs a window"),
    ],
)
def test_what_cannot_be_built(text: str, problem: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_transcript(Transcript.parse(text))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{steps: [{input: [1]}, {advance: 5 s}, {end: true}]}", "step 2 (line 1): advance: 5 s moves the clock"),
        ("{window: {tumbling: 5 s, time: processing}, function: count, steps: [{end: true}]}", "processing time"),
        ("{watermarks: {ascending: true, periodic: true}, steps: [{end: true}]}", "watermarks depend on the clock"),
        ("{steps: [{expect_watermark: min}, {end: true}]}", "between two inputs"),
        ("{steps: [{input: [1]}]}", "does not end its input"),
        ("{streams: [a, b], steps: [{end: a}]}", "does not end its input"),
    ],
)
def test_why_not_on_spark(text: str, reason: str) -> None:
    found = Transcript.parse(text)
    assert reason in (found.why_not_on_spark() or "")
    with pytest.raises(ProgramError, match="cannot be replayed on Spark"):
        replay_on_spark([found])


def test_spark_can_replay_what_does_not_need_the_clock() -> None:
    assert transcript(SUMS).why_not_on_spark() is None


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("steps: [{input: [1], expect: [1]}]")
    (tmp_path / "two.yaml").write_text("name: first\nsteps: []\n---\nname: second\nsteps: [{end: true}]\n")
    assert Transcript.load(tmp_path / "one.yaml").name == "one"
    assert [found.name for found in Transcript.load_all(tmp_path / "two.yaml")] == ["first", "second"]
    with pytest.raises(ProgramError, match="holds 2 transcripts"):
        Transcript.load(tmp_path / "two.yaml")
    assert pytest_transcripts(tmp_path).mark.kwargs["ids"] == ["one", "first", "second"]
    assert pytest_transcripts(tmp_path, on_spark=True).mark.kwargs["ids"] == ["second"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProgramError, match="There is no transcript"):
        pytest_transcripts(tmp_path / "empty")
