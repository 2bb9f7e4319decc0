"""What the tests of several streams share: small jobs that are run in process."""

from __future__ import annotations

from typing import Any

from penstock.api.data_stream import DataStream
from penstock.api.environment import StreamExecutionEnvironment
from penstock.graph.steps import CollectStep
from penstock.testing.local_run import run_locally
from penstock.vocabulary.time.strategy import WatermarkStrategy


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def collected(*streams: DataStream[Any]) -> Any:
    """Run the job and return what arrives at the end of a stream; of several streams, one list each."""
    for number, stream in enumerate(streams):
        stream._sink("Collect", CollectStep(collection=str(number)))
    found = run_locally(streams[0].get_execution_environment()).collected
    results = [found.get(str(number), []) for number in range(len(streams))]
    return results[0] if len(results) == 1 else results


def timed(env: StreamExecutionEnvironment, *records: Any, time: Any = lambda record: record[-1]) -> DataStream[Any]:
    """Return a stream of records whose last field, or what ``time`` says, is their timestamp."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: time(record))
    return env.from_collection(records).assign_timestamps_and_watermarks(strategy)
