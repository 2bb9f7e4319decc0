"""State descriptors: identity, types, functions, time to live."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import AggregateFunction, ReduceFunction
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.state.ttl import StateTtlConfig
from penstock.vocabulary.time.durations import Duration, Time
from penstock.vocabulary.types.catalogue import Types


class Longest(ReduceFunction[str]):
    def reduce(self, value1: str, value2: str) -> str:
        return max(value1, value2, key=len)


class Count(AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


DESCRIPTORS: list[StateDescriptor] = [
    ValueStateDescriptor("s", Types.INT()),
    ListStateDescriptor("s", Types.INT()),
    MapStateDescriptor("s", Types.STRING(), Types.INT()),
    ReducingStateDescriptor("s", Longest(), Types.STRING()),
    AggregatingStateDescriptor("s", Count(), Types.INT()),
]


@pytest.mark.parametrize("descriptor", DESCRIPTORS)
def test_kst_09_a_descriptor_is_known_by_kind_and_name(descriptor: StateDescriptor) -> None:
    copy = pickle.loads(pickle.dumps(descriptor))
    assert copy == descriptor
    assert hash(copy) == hash(descriptor)
    assert copy.get_name() == "s"
    assert [each for each in DESCRIPTORS if each == descriptor] == [descriptor]


def test_the_type_does_not_belong_to_the_identity() -> None:
    assert ValueStateDescriptor("s", Types.INT()) == ValueStateDescriptor("s", Types.STRING())
    assert ValueStateDescriptor("s") != ValueStateDescriptor("t")


def test_types_describe_the_whole_content() -> None:
    assert ListStateDescriptor("s", Types.INT()).type_info == Types.LIST(Types.INT())
    assert MapStateDescriptor("s", Types.STRING(), Types.INT()).type_info == Types.MAP(Types.STRING(), Types.INT())
    assert MapStateDescriptor("s").type_info is None


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ProgramError, match="empty"):
        ValueStateDescriptor("")


def test_a_reducing_state_takes_a_function_object_or_a_callable() -> None:
    assert ReducingStateDescriptor("s", Longest()).get_reduce_function().reduce("a", "bb") == "bb"
    assert ReducingStateDescriptor("s", lambda a, b: a + b).get_reduce_function().reduce(1, 2) == 3


def test_wrong_functions_are_refused_where_they_are_given() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError):
        ReducingStateDescriptor("s", wrong)
    with pytest.raises(TypeError, match="AggregateFunction"):
        AggregatingStateDescriptor("s", wrong)


def test_a_value_may_have_an_initial_value() -> None:
    assert ValueStateDescriptor("s", default_value=0).default_value == 0
    assert ValueStateDescriptor("s").default_value is None


def test_time_to_live_follows_the_config() -> None:
    descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(2)).build())
    assert descriptor.ttl_config is not None
    assert descriptor.ttl_config.ttl_millis == 2000


def test_a_disabled_time_to_live_is_none() -> None:
    descriptor: ValueStateDescriptor[int] = ValueStateDescriptor("s")
    builder = StateTtlConfig.new_builder(Time.seconds(2)).set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(builder.build())
    assert descriptor.ttl_config is None


def test_only_a_ttl_config_enables_time_to_live() -> None:
    wrong: Any = Time.seconds(2)
    with pytest.raises(TypeError, match="StateTtlConfig"):
        ValueStateDescriptor("s").enable_time_to_live(wrong)


def test_ttl_starts_with_flinks_choices() -> None:
    config = StateTtlConfig.new_builder(Duration.of_minutes(1)).build()
    assert config.is_enabled()
    assert config.get_ttl() == Duration.of_minutes(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction is not None
    assert compaction.get_query_time_after_num_entries() == 1000
    assert compaction.get_periodic_compaction_time() == Duration.of_days(30)


def test_ttl_takes_every_choice_and_survives_pickling() -> None:
    config = (
        StateTtlConfig.new_builder(Time.seconds(1))
        .set_ttl(Time.seconds(9))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .disable_cleanup_in_background()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .cleanup_in_rocksdb_compact_filter(11)
        .build()
    )
    config = pickle.loads(pickle.dumps(config))
    assert config.ttl_millis == 9000
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    cleanup = config.get_cleanup_strategies()
    assert cleanup.in_full_snapshot()
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.get_incremental_cleanup_strategy().get_cleanup_size() == 7
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy().get_periodic_compaction_time() == Duration.of_days(30)


def test_without_background_cleanup_only_named_strategies_run() -> None:
    cleanup = (
        StateTtlConfig.new_builder(Time.seconds(1)).disable_cleanup_in_background().build().get_cleanup_strategies()
    )
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None


def test_a_time_to_live_must_be_positive() -> None:
    with pytest.raises(ProgramError, match="at least one millisecond"):
        StateTtlConfig.new_builder(Time.seconds(0)).build()
