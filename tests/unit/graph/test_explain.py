"""The plan, shown to people and to tools."""

from __future__ import annotations

import json

import pytest

from penstock import OutputTag, ProcessFunction, ProgramError, StreamExecutionEnvironment
from tests.unit.local_jobs import environment


def word_count() -> StreamExecutionEnvironment:
    env = environment(2)
    words = env.from_collection(["a b a"]).name("lines").flat_map(str.split).name("words").uid("words-1")
    words.map(lambda w: (w, 1)).key_by(lambda t: t[0]).sum(1).set_description("rolling counts").print()
    return env


def test_json_has_flinks_fields() -> None:
    nodes = json.loads(word_count().get_execution_plan())["nodes"]
    assert [node["type"] for node in nodes] == [
        "Source: lines", "words", "Map", "Sum", "Sink: Print to Std. Out",
    ]  # fmt: skip
    assert [node["pact"] for node in nodes] == ["Data Source", "Operator", "Operator", "Operator", "Data Sink"]
    assert [node["parallelism"] for node in nodes] == [1, 2, 2, 2, 2]
    assert "predecessors" not in nodes[0]
    assert [node["predecessors"][0]["ship_strategy"] for node in nodes[1:]] == [
        "REBALANCE", "FORWARD", "HASH", "FORWARD",
    ]  # fmt: skip
    assert [node["predecessors"][0]["id"] for node in nodes[1:]] == [node["id"] for node in nodes[:-1]]
    assert nodes[1]["uid"] == "words-1"
    assert nodes[3]["contents"] == "rolling counts"


class Tagging(ProcessFunction):
    def process_element(self, value: object, ctx: ProcessFunction.Context) -> object:
        yield OutputTag("odd"), value


def test_json_names_the_side_output_read() -> None:
    env = environment()
    env.from_collection([1]).process(Tagging()).get_side_output(OutputTag("odd")).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert nodes[2]["predecessors"][0]["side_output"] == "odd"


def test_text_shows_stages_chains_exchanges_and_slots() -> None:
    text = word_count().explain()
    lines = text.splitlines()
    assert "3 chains, 5 subtasks, 3 Spark stages" in lines[0]
    assert "needs 5 Spark task slots" in lines[1]
    assert "2 slots" in lines[1]
    assert [line for line in lines if line.startswith("Stage")] == [
        "Stage 0 (parallelism 1)",
        "Stage 1 (parallelism 2)",
        "Stage 2 (parallelism 2)",
    ]
    assert "words -> Map (parallelism 2)" in text
    assert "words: uid 'words-1'" in text
    assert "Sum: generated id, keyed state, rolling counts" in text
    assert "<- [1] REBALANCE" in text
    assert "<- [2] HASH" in text


def test_explaining_does_not_use_the_program_up() -> None:
    env = word_count()
    assert env.explain() == env.explain()
    assert env.get_execution_plan() == env.get_execution_plan()


def test_explain_refuses_a_wrong_program() -> None:
    env = environment()
    env.from_collection([1]).uid("same").map(str).uid("same")
    with pytest.raises(ProgramError, match="'same'"):
        env.explain()


def test_explain_refuses_an_empty_program() -> None:
    with pytest.raises(ProgramError, match="No operators defined"):
        environment().explain()
