"""Settings of one job that hold for all of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.vocabulary.settings.refused_options import refuse
from penstock.vocabulary.settings.restarts import RestartStrategies, RestartStrategyConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["ExecutionConfig"]

_MAX_PARALLELISM_LIMIT = 1 << 15


class ExecutionConfig:
    """Parallelism, periodic watermarks, restarts and the other job-wide settings.

    Settings about how a JVM serialises objects (closure cleaner, Kryo, Avro, generic types) can only be set to what
    holds in Python anyway; the other value is refused, so that nothing that is set stays without effect.
    """

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    """The job takes the parallelism of its environment."""
    PARALLELISM_UNKNOWN: ClassVar[int] = -2
    """The parallelism is not known yet."""

    def __init__(self) -> None:
        """Create the settings of a job that sets nothing."""
        self._parallelism = ExecutionConfig.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._auto_watermark_interval = 200
        self._task_cancellation_interval = 30_000
        self._task_cancellation_timeout = 30_000
        self._global_job_parameters: dict[str, str] = {}
        self._restart_strategy: RestartStrategyConfiguration = RestartStrategies.fall_back_restart()
        self._use_snapshot_compression = False
        self._object_reuse = False
        self._auto_generated_uids = True

    def get_parallelism(self) -> int:
        """Return the parallelism of steps that set none, or `PARALLELISM_DEFAULT`."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of steps that set none."""
        if parallelism < 1 and parallelism not in (self.PARALLELISM_DEFAULT, self.PARALLELISM_UNKNOWN):
            msg = f"The parallelism is {parallelism}; it must be 1 or more, or ExecutionConfig.PARALLELISM_DEFAULT."
            raise ValueError(msg)
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, or -1 if it is left to the job."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, which bounds every later parallelism of a restored job."""
        if max_parallelism != -1 and not 1 <= max_parallelism <= _MAX_PARALLELISM_LIMIT:
            msg = f"The max parallelism is {max_parallelism}; it must be from 1 to {_MAX_PARALLELISM_LIMIT}."
            raise ValueError(msg)
        self._max_parallelism = max_parallelism
        return self

    def get_auto_watermark_interval(self) -> int:
        """Return how often, in milliseconds, periodic watermark generators are asked for a watermark."""
        return self._auto_watermark_interval

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often, in milliseconds, periodic watermark generators are asked; 0 switches them off."""
        self._auto_watermark_interval = _at_least(interval, 0, "The auto watermark interval")
        return self

    def get_latency_tracking_interval(self) -> int:
        """Return 0: there are no latency markers."""
        return 0

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Take 0 or less, which is off; everything else is refused, because there are no latency markers."""
        if interval > 0:
            refuse("metrics.latency.interval")
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return the milliseconds between two interrupts of a cancelled subtask that does not end."""
        return self._task_cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set the milliseconds between two interrupts of a cancelled subtask that does not end."""
        self._task_cancellation_interval = _at_least(interval, 1, "The task cancellation interval")
        return self

    def get_task_cancellation_timeout(self) -> int:
        """Return after how many milliseconds a cancelled subtask that has not ended is ended with its process."""
        return self._task_cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set after how many milliseconds a cancelled subtask that has not ended is ended with its process.

        0 waits without an end. It also holds for the other subtasks of a job after one of them has failed.
        """
        self._task_cancellation_timeout = _at_least(timeout, 0, "The task cancellation timeout")
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that every function of the job can read."""
        return dict(self._global_job_parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, str]) -> ExecutionConfig:
        """Set the parameters that every function of the job can read."""
        self._global_job_parameters = {key: str(value) for key, value in global_job_parameters_dict.items()}
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return what happens when the job fails."""
        return self._restart_strategy

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> ExecutionConfig:
        """Set what happens when the job fails."""
        self._restart_strategy = restart_strategy_configuration
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Tell whether savepoints and checkpoints of the heap are compressed; files of RocksDB are its own matter."""
        return self._use_snapshot_compression

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:  # noqa: FBT001
        """Set whether savepoints and checkpoints of the heap are compressed; files of RocksDB are its own matter."""
        self._use_snapshot_compression = use_snapshot_compression
        return self

    def enable_object_reuse(self) -> ExecutionConfig:
        """Let chained steps hand over the same object instead of a copy."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Take back `enable_object_reuse`."""
        self._object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Tell whether chained steps may hand over the same object."""
        return self._object_reuse

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Give steps without a uid a generated one."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse jobs in which a step has no uid of its own."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Tell whether steps without a uid get a generated one."""
        return self._auto_generated_uids

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Say what holds: a Python function takes along only the variables that it uses."""
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Refuse: Python functions cannot take along variables that they do not use."""
        refuse("pipeline.closure-cleaner-level")

    def is_closure_cleaner_enabled(self) -> bool:
        """Return true: functions take along only the variables that they use."""
        return True

    def enable_force_kryo(self) -> ExecutionConfig:
        """Refuse: there is no Kryo here."""
        refuse("pipeline.force-kryo")

    def disable_force_kryo(self) -> ExecutionConfig:
        """Say what holds: Kryo is not used."""
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Return false: Kryo is not used."""
        return False

    def enable_force_avro(self) -> ExecutionConfig:
        """Refuse: there is no Avro serialiser for records here."""
        refuse("pipeline.force-avro")

    def disable_force_avro(self) -> ExecutionConfig:
        """Say what holds: Avro is not used between steps."""
        return self

    def is_force_avro_enabled(self) -> bool:
        """Return false: Avro is not used between steps."""
        return False

    def enable_generic_types(self) -> ExecutionConfig:
        """Say what holds: a record may be of any type that can be pickled."""
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        """Refuse: records of every type are pickled, so all types would be refused."""
        refuse("pipeline.generic-types")

    def has_generic_types_disabled(self) -> bool:
        """Return false: a record may be of any type that can be pickled."""
        return False

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Return the Kryo serialisers of the job: always none, because a Python runtime has no JVM classes."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return the types registered with Kryo: always none, because a Python runtime has no JVM classes."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return the registered POJO types: always none, because a Python runtime has no JVM classes."""
        return []

    def configure(self, configuration: Configuration) -> None:
        """Take over the settings that `configuration` holds under Flink's keys; other settings stay."""
        if configuration.contains_key("parallelism.default"):
            self.set_parallelism(configuration.get_integer("parallelism.default", 1))
        if configuration.contains_key("pipeline.max-parallelism"):
            self.set_max_parallelism(configuration.get_integer("pipeline.max-parallelism", -1))
        interval = configuration.get_millis("pipeline.auto-watermark-interval", self._auto_watermark_interval)
        self.set_auto_watermark_interval(interval)
        self.set_task_cancellation_interval(
            configuration.get_millis("task.cancellation.interval", self._task_cancellation_interval)
        )
        self.set_task_cancellation_timeout(
            configuration.get_millis("task.cancellation.timeout", self._task_cancellation_timeout)
        )
        self._object_reuse = configuration.get_boolean("pipeline.object-reuse", self._object_reuse)
        self._auto_generated_uids = configuration.get_boolean("pipeline.auto-generate-uids", self._auto_generated_uids)
        self._use_snapshot_compression = configuration.get_boolean(
            "execution.checkpointing.snapshot-compression", self._use_snapshot_compression
        )
        self._restart_strategy = RestartStrategies.from_configuration(configuration) or self._restart_strategy
        parameters = configuration.get_string("pipeline.global-job-parameters", None)
        if parameters:
            self.set_global_job_parameters(_parse_parameters(parameters))
        # A file may hold them as a map, whose entries are keys of their own.
        self._global_job_parameters |= configuration.below("pipeline.global-job-parameters.").to_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._parallelism, self._max_parallelism, self._auto_watermark_interval, self._restart_strategy))


def _at_least(value: int, least: int, what: str) -> int:
    if value < least:
        msg = f"{what} is {value}; it must be {least} ms or more."
        raise ValueError(msg)
    return value


def _parse_parameters(text: str) -> dict[str, str]:
    pairs = (entry.split(":", 1) for entry in text.split(",") if entry.strip())
    try:
        return {key.strip(): value.strip() for key, value in pairs}
    except ValueError as error:
        msg = f"pipeline.global-job-parameters is {text!r}; write key:value pairs separated by commas."
        raise ValueError(msg) from error
