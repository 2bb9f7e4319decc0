"""Whole jobs with Kafka in one process: event time, side outputs, restarts with another parallelism."""

from __future__ import annotations

import time
from typing import Any

from penstock import (
    AggregateFunction,
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetsInitializer,
    OutputTag,
    Semantic,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from penstock.testing.local_run import LocalRun, run_locally
from tests.servers.kafka import Kafka
from tests.spark.kafka_jobs import count_job, kafka_sink, kafka_source
from tests.unit.local_jobs import collect, environment, results


class Counting(AggregateFunction):
    def create_accumulator(self) -> Any:
        return "", 0

    def add(self, value: str, accumulator: Any) -> Any:
        return value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        return a[0], a[1] + b[1]


def bounded(kafka: Kafka, topic: str, group: str = "group") -> Any:
    return kafka_source(kafka.address, topic, group).set_bounded(KafkaOffsetsInitializer.latest())


def test_event_time_comes_from_kafka(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    for second, value in enumerate(["a", "b", "a", "a", "c", "a"]):
        kafka.send(topic, [value], timestamp=1_700_000_000_000 + second * 1000, partition=second % 2)
    env = environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(bounded(kafka, topic).build(), strategy, "kafka")
    windows = stream.key_by(lambda value: value).window(TumblingEventTimeWindows.of(3000))
    counts = windows.aggregate(Counting())
    # 1,700,000,000 s is the last second but one of a window of three: a | b a a | c a
    assert sorted(results(counts)) == [("a", 1), ("a", 1), ("a", 2), ("b", 1), ("c", 1)]


def test_an_empty_partition_does_not_hold_up_time_with_idleness(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    for second in range(10):
        kafka.send(topic, ["a"], timestamp=1_700_000_000_000 + second * 1000, partition=0)
    env = environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(500)
    stream = env.from_source(kafka_source(kafka.address, topic, "group").build(), strategy, "kafka")
    collect(stream.key_by(lambda value: value).window(TumblingEventTimeWindows.of(3000)).reduce(lambda a, b: a + b))
    run = LocalRun.of(env)
    deadline = time.monotonic() + 30
    while not run.collected.get("out"):
        assert time.monotonic() < deadline
        run.step()
        run.advance(100)
        time.sleep(0.01)
    run.close()
    assert run.collected["out"][0] == "a", "the window of the first second has ended"


def test_malformed_records_are_a_side_output(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["good", b"\xff\xfe", "fine"])
    malformed: OutputTag[Any] = OutputTag("malformed")
    env = environment(1)
    source = bounded(kafka, topic).set_malformed_records_to(malformed).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    collect(stream.get_side_output(malformed).map(lambda record: (record.origin, record.position)), "bad")
    collect(stream)
    run = run_locally(env)
    assert run.collected == {"out": ["good", "fine"], "bad": [(f"{topic}-0", 1)]}


def test_kaf_07_positions_are_those_of_the_checkpoint_also_with_another_parallelism(kafka: Kafka) -> None:
    source, target, prefix = kafka.topic(partitions=4), kafka.topic(partitions=2), kafka.name("prefix")
    values = [f"{'abc'[number % 3]}{number}" for number in range(3000)]
    kafka.send(source, values)

    def job(parallelism: int) -> StreamExecutionEnvironment:
        env = environment(parallelism)
        env.enable_checkpointing(10_000)
        env.get_checkpoint_config().set_checkpoint_timeout(60_000)
        count_job(env, bounded(kafka, source).build(), kafka_sink(kafka.address, target, prefix))
        return env

    checkpoint = None
    for parallelism in (2, 3, 1):
        run = LocalRun.of(job(parallelism), restore=checkpoint)
        seen = len(kafka.visible(target))
        deadline = time.monotonic() + 60
        while len(kafka.visible(target)) == seen and parallelism != 1:
            assert time.monotonic() < deadline
            run.step()
            checkpoint = run.checkpoint()
            run.step()  # written after the checkpoint: it must not be seen
        if parallelism == 1:
            run.run()
        else:
            run.close()
    expected = sorted(f"{letter} {count}" for letter in "abc" for count in range(1, 1001))
    assert sorted(kafka.committed(target)) == expected


def test_the_older_names_in_a_job(kafka: Kafka) -> None:
    source, target = kafka.topic(), kafka.topic()
    kafka.send(source, ["1", "2", "3"])
    env = environment(1)
    env.enable_checkpointing(10_000)
    env.get_checkpoint_config().set_checkpoint_timeout(60_000)
    properties = {"bootstrap.servers": kafka.address, "group.id": kafka.name("group")}
    consumer = FlinkKafkaConsumer(source, SimpleStringSchema(), properties).set_start_from_earliest()
    producer = FlinkKafkaProducer(
        target, SimpleStringSchema(), {"bootstrap.servers": kafka.address}, semantic=Semantic.EXACTLY_ONCE
    )
    env.add_source(consumer).map(lambda value: str(int(value) * 10)).add_sink(producer)
    run = LocalRun.of(env, kafka.name("job"))
    deadline = time.monotonic() + 30
    while len(kafka.visible(target)) < 3:
        assert time.monotonic() < deadline
        run.step()
        run.checkpoint()
    run.close()
    assert kafka.committed(target) == ["10", "20", "30"]
    assert kafka.group_offsets(properties["group.id"], source) == {0: 3}
