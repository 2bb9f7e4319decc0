"""Every setter has a place that reads what it sets, or refuses it: nothing is accepted and ignored."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from penstock import (
    Duration,
    ExecutionConfig,
    FileSystemCheckpointStorage,
    ProgramError,
    SlotSharingGroup,
    StateTtlConfig,
)
from tests.architecture.setters import reader_of, setters, unread_attributes
from tests.unit.local_jobs import environment

REFUSED: dict[str, Callable[[], Any]] = {
    "ExecutionConfig.set_latency_tracking_interval": lambda: ExecutionConfig().set_latency_tracking_interval(1000),
    "ExecutionConfig.disable_closure_cleaner": lambda: ExecutionConfig().disable_closure_cleaner(),
    "ExecutionConfig.enable_force_kryo": lambda: ExecutionConfig().enable_force_kryo(),
    "ExecutionConfig.enable_force_avro": lambda: ExecutionConfig().enable_force_avro(),
    "ExecutionConfig.disable_generic_types": lambda: ExecutionConfig().disable_generic_types(),
}
"""Setters that nothing reads because they are refused, with a call that is."""

HOLDS = {
    "ExecutionConfig.enable_closure_cleaner",
    "ExecutionConfig.disable_force_kryo",
    "ExecutionConfig.disable_force_avro",
    "ExecutionConfig.enable_generic_types",
}
"""Setters that take back what is refused: they ask for what holds anyway."""

EXPLAINED = {
    "penstock/api/checkpoint_settings.py:CheckpointSettings._rocksdb_configuration": "set_state_backend() reads it",
    "penstock/api/keyed_stream.py:KeyedStream._key_type": "a key is what its selector returns, whatever is declared",
    "penstock/connectors/mysql/jdbc.py:JdbcConnectionOptions._driver_name": "drivers of other databases are refused",
    "penstock/vocabulary/sinks/protocol.py:WriterContext.restored_checkpoint": "writers of the program read it",
    "penstock/vocabulary/functions/asynchronous.py:AsyncFunctionDescriptor.output_mode": "AsyncDataStream makes steps",
    "penstock/vocabulary/types/serialization.py:RowDataBulkWriterFactory._row_type": "factories of the program read it",
    "penstock/vocabulary/state/ttl.py:StateTtlConfig._ttl_time_characteristic": "there is only one",
    "penstock/vocabulary/time/generators.py:Watermark.MAX_WATERMARK": "a constant for programs",
    "penstock/vocabulary/time/generators.py:Watermark.UNINITIALIZED": "a constant for programs",
}
"""What is kept and read by nothing in the package, with the reason why that is no ignored setting."""


@cache
def _readers() -> dict[str, str | None]:
    return {f"{method.owner.name}.{method.name}": reader_of(method) for method in setters()}


def test_every_setter_has_a_reader_or_is_refused() -> None:
    without = {name for name, reader in _readers().items() if reader is None}
    assert without == REFUSED.keys() | HOLDS


@pytest.mark.parametrize("name", REFUSED)
def test_what_nothing_reads_is_refused(name: str) -> None:
    with pytest.raises(ProgramError):
        REFUSED[name]()


def test_everything_that_settings_keep_is_read() -> None:
    assert set(unread_attributes()) == EXPLAINED.keys()


@pytest.mark.parametrize(
    "call",
    [
        lambda: FileSystemCheckpointStorage("file:///c", 100, 4096),
        lambda: StateTtlConfig.new_builder(1000).cleanup_in_rocksdb_compact_filter(10, Duration.of_hours(1)),
        lambda: environment().from_collection([1]).slot_sharing_group(SlotSharingGroup("io", cpu_cores=1.0)),
    ],
)
def test_arguments_that_cannot_be_had_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(ProgramError):
        call()


def test_the_walk_sees_what_is_there() -> None:
    found = _readers()
    assert len(found) > 190
    reader = found["CheckpointConfig.set_checkpoint_timeout"]
    assert reader is not None
    assert reader.startswith("penstock/checkpoint/coordinator_messages.py")
    assert found["KafkaSourceBuilder.set_topics"] is not None
    assert {"EnvironmentSettings.set_parallelism", "StepSettings.set_uid_hash"} <= found.keys()
