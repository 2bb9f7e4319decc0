"""Options, types, time and jobs: what `pyflink.common` has, under the same names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus
from penstock.vocabulary.settings.config_options import ConfigOption, ConfigOptions
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.execution import ExecutionConfig
from penstock.vocabulary.settings.modes import InputDependencyConstraint
from penstock.vocabulary.settings.restarts import RestartStrategies, RestartStrategyConfiguration
from penstock.vocabulary.time.durations import Duration, Instant, Time
from penstock.vocabulary.time.legacy_assigners import AssignerWithPeriodicWatermarksWrapper
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.rows import Row, RowKind
from penstock.vocabulary.types.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.vocabulary.types.serializer import TypeSerializer
from penstock.vocabulary.types.type_info import TypeInformation

if TYPE_CHECKING:
    from penstock.api.job_client import JobClient

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkStrategy",
]


def __getattr__(name: str) -> Any:
    # The client belongs to the fluent API, which is imported only by programs that use it.
    if name == "JobClient":
        return getattr(import_module("penstock.api.job_client"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
