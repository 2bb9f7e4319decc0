"""Programs for tests: an environment, a place to collect into, and the run in this process."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock import Configuration, DataStream, StreamExecutionEnvironment
from penstock.graph.steps import CollectStep
from penstock.testing.local_run import LocalRun, run_locally


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    """An environment that no configuration file or command line has touched."""
    return StreamExecutionEnvironment(Configuration()).set_parallelism(parallelism)


def collect(stream: DataStream[Any], name: str = "out") -> None:
    """Collect a stream's records under a name, right where they are made."""
    sink = stream._sink("Collect", CollectStep(collection=name))
    env = stream.get_execution_environment()
    parallelism = {env.graph.nodes[upstream.node].parallelism for upstream in stream._upstreams}.pop()
    if parallelism is not None:
        sink.set_parallelism(parallelism)


def results(stream: DataStream[Any]) -> list[Any]:
    """Run the job to its end and return the stream's records in the order of their arrival."""
    collect(stream)
    return run_locally(stream.get_execution_environment()).collected.get("out", [])


def local_run(env: StreamExecutionEnvironment) -> LocalRun:
    """The job of an environment, to be driven step by step."""
    return LocalRun.of(env)


def by_subtask(lines: list[str]) -> dict[int, list[str]]:
    """Printed lines without their prefix, per subtask number."""
    found: dict[int, list[str]] = defaultdict(list)
    for line in lines:
        number, _, rest = line.partition("> ")
        found[int(number)].append(rest)
    return dict(found)
