"""The exactly-once sink: whatever step of either phase fails, a ``read_committed`` consumer sees each record once.

``Kafka.committed`` reads to the very end of the log, which an open transaction would forbid: nothing is left open.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    DeliveryGuarantee,
    KafkaRecordSerializationSchema,
    KafkaSink,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.connectors.kafka.committer import KafkaCommitter
from penstock.connectors.kafka.transactional_writer import TransactionalWriter
from tests.connectors.kafka_faults import FAULTS, STEPS, FailingSink
from tests.connectors.writer_context import Surroundings
from tests.servers.kafka import Kafka
from tests.unit.local_jobs import environment
from tests.unit.sinks.lives import OneByOne, live

VALUES = [str(number) for number in range(8)]


def sink(kafka: Kafka, topic: str, prefix: str, kind: type[KafkaSink[Any]] = KafkaSink, **settings: str) -> Any:
    messages = KafkaRecordSerializationSchema.builder().set_topic(topic)
    made = KafkaSink.builder().set_bootstrap_servers(kafka.address).set_transactional_id_prefix(prefix)
    made.set_record_serializer(messages.set_value_serialization_schema(SimpleStringSchema()).build())
    made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    for key, value in settings.items():
        made.set_property(key.replace("_", "."), value)
    return kind(made.build()._options)


class Job:
    """A job from a list to a topic; each life has the sink anew, as each process has."""

    def __init__(self, kafka: Kafka, kind: type[KafkaSink[Any]] = FailingSink, parallelism: int = 1) -> None:
        self.kafka = kafka
        self.topic = kafka.topic(partitions=2)
        self.prefix = kafka.name("prefix")
        self.kind = kind
        self.parallelism = parallelism

    def build(self) -> StreamExecutionEnvironment:
        env = environment(1)
        env.enable_checkpointing(10_000)
        env.get_checkpoint_config().set_checkpoint_timeout(60_000)
        stream = env.from_source(OneByOne(VALUES), WatermarkStrategy.no_watermarks(), "values").rebalance()
        stream.sink_to(sink(self.kafka, self.topic, self.prefix, self.kind)).set_parallelism(self.parallelism).uid(
            "out"
        )
        return env

    def check(self) -> None:
        assert sorted(self.kafka.committed(self.topic)) == VALUES


POINTS = [f"{when} {step}" for step in STEPS for when in ("before", "after")]


@pytest.fixture(autouse=True)
def bury_the_dead() -> Iterator[None]:
    yield
    FAULTS.plan()
    FAULTS.dead.clear()


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_any_step_shows_each_record_once(kafka: Kafka, point: str) -> None:
    job = Job(kafka)
    FAULTS.plan((point, 0), (point, 1), kills=True)
    lives = live(job.build)
    assert FAULTS.struck == [point] * 2
    assert lives == 3
    job.check()


@pytest.mark.parametrize("point", [f"after {step}" for step in STEPS])
def test_a_failure_elsewhere_closes_what_is_open(kafka: Kafka, point: str) -> None:
    job = Job(kafka)
    FAULTS.plan((point, 0), (point, 1))
    assert live(job.build) == 3
    job.check()


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_while_a_transaction_of_a_dead_process_is_written_again(kafka: Kafka, point: str) -> None:
    job = Job(kafka)
    # The first transaction is in a complete checkpoint and not committed; writing it again fails as well, twice.
    FAULTS.plan(("before commit", 0), (point, 0), (point, 0), kills=True)
    lives = live(job.build)
    assert FAULTS.struck == ["before commit", point, point]
    assert lives == 4
    job.check()


@pytest.mark.parametrize("point", ["after mark", "before commit", "after commit"])
def test_two_subtasks(kafka: Kafka, point: str) -> None:
    job = Job(kafka, parallelism=2)
    FAULTS.plan((point, 1), (point, 2), kills=True)
    assert live(job.build) == 3
    job.check()


def test_another_parallelism_finishes_the_work_of_all(kafka: Kafka) -> None:
    job = Job(kafka, parallelism=3)
    FAULTS.plan(("before commit", 1), kills=True)
    numbers = itertools.count()

    def build() -> StreamExecutionEnvironment:
        job.parallelism = 3 if next(numbers) == 0 else 2
        return job.build()

    assert live(build) == 2
    job.check()


# -- without the engine


class Subtask:
    """A writer and a committer of one process."""

    def __init__(self, made: KafkaSink[Any], states: Any = None, recovered: Any = (), **context: Any) -> None:
        surroundings = Surroundings().context(**context)
        committer = made.create_committer(surroundings)
        assert isinstance(committer, KafkaCommitter)
        self.committer = committer
        self.committer.recover(list(recovered))
        writer = made.create_writer(surroundings) if states is None else made.restore_writer(surroundings, states)
        assert isinstance(writer, TransactionalWriter)
        self.writer = writer

    def prepare(self, *values: str) -> list[Any]:
        self.writer.write_run(list(values), None)
        self.writer.flush(end_of_input=False)
        return self.writer.prepare_commit()

    def close(self) -> None:
        self.writer.close()
        self.committer.close()


def test_kaf_14_nothing_is_visible_before_the_commit(kafka: Kafka) -> None:
    topic = kafka.topic()
    subtask = Subtask(sink(kafka, topic, kafka.name()))
    prepared = subtask.prepare("a", "b")
    with pytest.raises(AssertionError, match="open"):
        kafka.committed(topic, 1)
    assert subtask.committer.commit(prepared) == []
    assert kafka.committed(topic) == ["a", "b"]
    subtask.close()


def test_several_transactions_wait_for_their_checkpoints(kafka: Kafka) -> None:
    topic = kafka.topic()
    subtask = Subtask(sink(kafka, topic, kafka.name()))
    first, second, third = (subtask.prepare(value) for value in "abc")
    assert len({each[0].transactional_id for each in (first, second, third)}) == 3
    subtask.committer.commit(second)
    subtask.committer.commit([*first, *third])
    fourth = subtask.prepare("d")
    assert fourth[0].transactional_id in {each[0].transactional_id for each in (first, second, third)}
    subtask.committer.commit(fourth)
    assert sorted(kafka.committed(topic)) == ["a", "b", "c", "d"]
    subtask.close()


def test_an_interval_without_records_has_no_transaction(kafka: Kafka) -> None:
    subtask = Subtask(sink(kafka, kafka.topic(), kafka.name()))
    assert subtask.prepare() == []
    subtask.close()


def test_committing_again_changes_nothing(kafka: Kafka) -> None:
    topic, prefix = kafka.topic(), kafka.name()
    made = sink(kafka, topic, prefix)
    subtask = Subtask(made)
    prepared = subtask.prepare("a")
    subtask.committer.commit(prepared)
    later = subtask.prepare("b")
    subtask.committer.commit(later)
    state = subtask.writer.snapshot_state(1)
    subtask.close()
    for _ in range(2):
        Subtask(sink(kafka, topic, prefix), state, [*prepared, *later]).close()
    assert kafka.committed(topic) == ["a", "b"]


def test_a_transaction_that_the_brokers_gave_up_is_written_again(kafka: Kafka) -> None:
    topic = kafka.topic()
    subtask = Subtask(sink(kafka, topic, kafka.name(), transaction_timeout_ms="1000"))
    prepared = subtask.prepare("a", "b")
    end = kafka.ends(topic)[0]
    deadline = time.monotonic() + 30
    while kafka.ends(topic)[0] == end:  # the abort adds a mark to the log
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert subtask.committer.commit(prepared) == []
    assert kafka.committed(topic) == ["a", "b"]
    subtask.committer.commit(subtask.prepare("c"))
    assert kafka.committed(topic) == ["a", "b", "c"]
    subtask.close()


def test_a_start_without_a_checkpoint_ends_what_a_killed_job_left_open(kafka: Kafka) -> None:
    topic, prefix = kafka.topic(), kafka.name()
    killed = [Subtask(sink(kafka, topic, prefix), subtask=number, parallelism=3) for number in range(3)]
    for subtask in killed:
        subtask.prepare("prepared, but in no checkpoint")
        subtask.writer.write("open", None)
        subtask.writer.flush(end_of_input=False)
    # Whatever the parallelism is now, every id of before is looked after.
    for number in range(2):
        Subtask(sink(kafka, topic, prefix), subtask=number, parallelism=2).close()
    assert kafka.committed(topic) == []


def test_an_old_checkpoint_can_be_restored_again_and_again(kafka: Kafka) -> None:
    topic, prefix = kafka.topic(), kafka.name()
    first = Subtask(sink(kafka, topic, prefix))
    prepared = first.prepare("of the checkpoint")
    state = first.writer.snapshot_state(1)
    for value in ("after it", "after it again"):
        later = Subtask(sink(kafka, topic, prefix), state, prepared)
        later.committer.commit(later.prepare(value))
        later.close()
    assert kafka.committed(topic) == ["of the checkpoint", "after it", "after it again"]


def test_a_broker_that_is_down_delays_the_commit(kafka: Kafka) -> None:
    topic = kafka.topic()
    subtask = Subtask(sink(kafka, topic, kafka.name()))
    prepared = subtask.prepare("a")
    kafka.server.kill()
    assert subtask.committer.commit(prepared) == prepared
    kafka.server.start()
    deadline = time.monotonic() + 60
    while subtask.committer.commit(prepared):
        assert time.monotonic() < deadline
    assert kafka.committed(topic) == ["a"]
    subtask.close()
