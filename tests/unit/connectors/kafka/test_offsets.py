"""Where reading starts: worked out from what the brokers know, here from a table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition, ProgramError
from penstock.connectors.kafka.subscription import Subscription

A, B, C = (KafkaTopicPartition("orders", number) for number in range(3))


class Known:
    """Partitions that begin at 10, 20, 30 and end at 100, 200, 300; the group has committed for the first only."""

    def beginnings(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {each: (each.partition + 1) * 10 for each in partitions}

    def ends(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {each: (each.partition + 1) * 100 for each in partitions}

    def at_time(self, partitions: Sequence[KafkaTopicPartition], timestamp: int) -> dict[KafkaTopicPartition, int]:
        return {each: timestamp for each in partitions if each != C}

    def committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        return {each: 55 for each in partitions if each == A}


NONE, EARLIEST, LATEST = (
    KafkaOffsetResetStrategy.NONE,
    KafkaOffsetResetStrategy.EARLIEST,
    KafkaOffsetResetStrategy.LATEST,
)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (KafkaOffsetsInitializer.earliest(), {A: 10, B: 20, C: 30}),
        (KafkaOffsetsInitializer.latest(), {A: 100, B: 200, C: 300}),
        (KafkaOffsetsInitializer.timestamp(42), {A: 42, B: 42, C: 300}),
        (KafkaOffsetsInitializer.committed_offsets(EARLIEST), {A: 55, B: 20, C: 30}),
        (KafkaOffsetsInitializer.committed_offsets(LATEST), {A: 55, B: 200, C: 300}),
        (KafkaOffsetsInitializer.offsets({B: 7}), {A: 55, B: 7, C: 30}),
        (KafkaOffsetsInitializer.offsets({A: 1, B: 7}, LATEST), {A: 1, B: 7, C: 300}),
    ],
)
def test_kaf_03_start_positions(offsets: KafkaOffsetsInitializer, expected: dict[KafkaTopicPartition, int]) -> None:
    assert offsets.resolve([A, B, C], Known()) == expected


def test_kaf_03_no_committed_offset_and_no_strategy_is_an_error_that_names_the_partitions() -> None:
    assert KafkaOffsetsInitializer.committed_offsets().resolve([A], Known()) == {A: 55}
    with pytest.raises(ProgramError, match="orders-1, orders-2"):
        KafkaOffsetsInitializer.committed_offsets().resolve([A, B, C], Known())
    with pytest.raises(ProgramError, match="orders-2"):
        KafkaOffsetsInitializer.offsets({A: 1, B: 2}, NONE).resolve([A, B, C], Known())


def test_a_partition_has_a_topic_and_a_number_from_0() -> None:
    for topic, number in (("", 0), ("orders", -1)):
        with pytest.raises(ProgramError):
            KafkaTopicPartition(topic, number)
    assert str(A) == "orders-0"
    assert len({A, KafkaTopicPartition("orders", 0)}) == 1


EXISTING = {"orders": [A, B], "orders-old": [KafkaTopicPartition("orders-old", 0)], "users": []}


def test_a_pattern_matches_the_whole_name() -> None:
    assert Subscription(pattern="orders").select(EXISTING) == [A, B]
    assert Subscription(pattern="orders.*").select(EXISTING) == [A, B, KafkaTopicPartition("orders-old", 0)]
    assert Subscription(pattern="nothing").select(EXISTING) == []


def test_what_was_named_must_exist() -> None:
    assert Subscription(topics=("orders",)).select(EXISTING) == [A, B]
    with pytest.raises(ProgramError, match="payments"):
        Subscription(topics=("orders", "payments")).select(EXISTING)
    with pytest.raises(ProgramError, match="orders-2"):
        Subscription(partitions=frozenset({A, C})).select(EXISTING)
