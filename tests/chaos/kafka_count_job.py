"""Kafka -> keyed count -> Kafka, exactly once; workers import this module by its name."""

from __future__ import annotations

from dataclasses import dataclass

from penstock import KafkaOffsetsInitializer, StreamExecutionEnvironment, WatermarkStrategy
from tests.chaos.paced import Paced
from tests.spark.kafka_jobs import Count, kafka_sink, kafka_source

__all__ = ["Counting", "build"]


@dataclass(frozen=True)
class Counting:
    """From where to where, and how fast."""

    servers: str
    source: str
    target: str
    per_second: int = 1000
    """Of each subtask."""


def build(env: StreamExecutionEnvironment, work: Counting) -> None:
    """Puts the job into an environment: it ends where the topic ends now."""
    source = kafka_source(work.servers, work.source, f"group-{work.target}")
    bounded = source.set_bounded(KafkaOffsetsInitializer.latest()).build()
    values = env.from_source(bounded, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
    counts = values.map(Paced(work.per_second)).key_by(lambda value: value[0]).process(Count()).uid("counts")
    counts.sink_to(kafka_sink(work.servers, work.target, f"chaos-{work.target}")).uid("sink")
