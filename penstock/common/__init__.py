"""Options, types, time and jobs: what `pyflink.common` has, under the same names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.config_options import ConfigOption, ConfigOptions
from penstock.vocabulary.configuration import Configuration
from penstock.vocabulary.durations import Duration, Instant, Time
from penstock.vocabulary.execution_config import ExecutionConfig
from penstock.vocabulary.input_dependency_constraint import InputDependencyConstraint
from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus
from penstock.vocabulary.legacy_assigners import AssignerWithPeriodicWatermarksWrapper
from penstock.vocabulary.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.vocabulary.rows import Row, RowKind
from penstock.vocabulary.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.vocabulary.serializer import TypeSerializer
from penstock.vocabulary.type_info import TypeInformation
from penstock.vocabulary.types import Types
from penstock.vocabulary.watermark_strategy import WatermarkStrategy

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
