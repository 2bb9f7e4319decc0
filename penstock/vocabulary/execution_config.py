"""Settings of one job that hold for all of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.vocabulary.restart_strategy import RestartStrategies, RestartStrategyConfiguration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.vocabulary.configuration import Configuration

__all__ = ["ExecutionConfig"]

_MAX_PARALLELISM_LIMIT = 1 << 15


class ExecutionConfig:
    """Parallelism, periodic watermarks, restarts and the other job-wide settings.

    The settings about closure cleaning, Kryo, Avro and generic types exist because programs mention them;
    they say how a JVM serialises objects, are stored and returned, and have no effect on a Python runtime.
    """

    PARALLELISM_DEFAULT: ClassVar[int] = -1
    """The job takes the parallelism of its environment."""
    PARALLELISM_UNKNOWN: ClassVar[int] = -2
    """The parallelism is not known yet."""

    def __init__(self) -> None:
        """Creates the settings of a job that sets nothing."""
        self._parallelism = ExecutionConfig.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._auto_watermark_interval = 200
        self._latency_tracking_interval = 0
        self._task_cancellation_interval = 30_000
        self._task_cancellation_timeout = 180_000
        self._global_job_parameters: dict[str, str] = {}
        self._restart_strategy: RestartStrategyConfiguration = RestartStrategies.fall_back_restart()
        self._use_snapshot_compression = False
        self._object_reuse = False
        self._auto_generated_uids = True
        self._closure_cleaner = True
        self._force_kryo = False
        self._force_avro = False
        self._generic_types = True

    def get_parallelism(self) -> int:
        """Returns the parallelism of steps that set none, or `PARALLELISM_DEFAULT`."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the parallelism of steps that set none."""
        if parallelism < 1 and parallelism not in (self.PARALLELISM_DEFAULT, self.PARALLELISM_UNKNOWN):
            msg = f"The parallelism is {parallelism}; it must be 1 or more, or ExecutionConfig.PARALLELISM_DEFAULT."
            raise ValueError(msg)
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        """Returns the number of key groups, or -1 if it is left to the job."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the number of key groups, which bounds every later parallelism of a restored job."""
        if max_parallelism != -1 and not 1 <= max_parallelism <= _MAX_PARALLELISM_LIMIT:
            msg = f"The max parallelism is {max_parallelism}; it must be from 1 to {_MAX_PARALLELISM_LIMIT}."
            raise ValueError(msg)
        self._max_parallelism = max_parallelism
        return self

    def get_auto_watermark_interval(self) -> int:
        """Returns how often, in milliseconds, periodic watermark generators are asked for a watermark."""
        return self._auto_watermark_interval

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Sets how often, in milliseconds, periodic watermark generators are asked; 0 switches them off."""
        self._auto_watermark_interval = _not_negative(interval, "The auto watermark interval")
        return self

    def get_latency_tracking_interval(self) -> int:
        """Returns what `set_latency_tracking_interval` was given; there are no latency markers."""
        return self._latency_tracking_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Takes the interval of Flink's latency markers, which has no effect: there are no markers here.

        They would measure how long blocks wait between tasks, which Spark's own page of the job shows.
        """
        self._latency_tracking_interval = interval
        return self

    def get_task_cancellation_interval(self) -> int:
        """Returns what `set_task_cancellation_interval` was given; nothing is interrupted again and again."""
        return self._task_cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Takes the time between two interrupts of a cancelled subtask, which has no effect.

        A worker is asked once to close its functions; if it does not within seconds, Spark ends its process.
        """
        self._task_cancellation_interval = interval
        return self

    def get_task_cancellation_timeout(self) -> int:
        """Returns what `set_task_cancellation_timeout` was given; a worker that does not end is always ended."""
        return self._task_cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Takes the time after which Flink gives a whole machine up, which has no effect.

        A subtask that does not end is a process of its own, which Spark ends after seconds without harm to others.
        """
        self._task_cancellation_timeout = _not_negative(timeout, "The task cancellation timeout")
        return self

    def get_global_job_parameters(self) -> dict[str, str]:
        """Returns the parameters that every function of the job can read."""
        return dict(self._global_job_parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, str]) -> ExecutionConfig:
        """Sets the parameters that every function of the job can read."""
        self._global_job_parameters = {key: str(value) for key, value in global_job_parameters_dict.items()}
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Returns what happens when the job fails."""
        return self._restart_strategy

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> ExecutionConfig:
        """Sets what happens when the job fails."""
        self._restart_strategy = restart_strategy_configuration
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Tells whether savepoints and checkpoints of the heap are compressed; files of RocksDB are its own matter."""
        return self._use_snapshot_compression

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:  # noqa: FBT001
        """Sets whether savepoints and checkpoints of the heap are compressed; files of RocksDB are its own matter."""
        self._use_snapshot_compression = use_snapshot_compression
        return self

    def enable_object_reuse(self) -> ExecutionConfig:
        """Lets chained steps hand over the same object instead of a copy."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Takes back `enable_object_reuse`."""
        self._object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Tells whether chained steps may hand over the same object."""
        return self._object_reuse

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Gives steps without a uid a generated one."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuses jobs in which a step has no uid of its own."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Tells whether steps without a uid get a generated one."""
        return self._auto_generated_uids

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Stores that closures are cleaned; it has no effect on a Python runtime."""
        self._closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Stores that closures are not cleaned; it has no effect on a Python runtime."""
        self._closure_cleaner = False
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Returns the stored closure cleaner setting."""
        return self._closure_cleaner

    def enable_force_kryo(self) -> ExecutionConfig:
        """Stores that Kryo is forced; it has no effect on a Python runtime."""
        self._force_kryo = True
        return self

    def disable_force_kryo(self) -> ExecutionConfig:
        """Stores that Kryo is not forced; it has no effect on a Python runtime."""
        self._force_kryo = False
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Returns the stored Kryo setting."""
        return self._force_kryo

    def enable_force_avro(self) -> ExecutionConfig:
        """Stores that Avro is forced; it has no effect on a Python runtime."""
        self._force_avro = True
        return self

    def disable_force_avro(self) -> ExecutionConfig:
        """Stores that Avro is not forced; it has no effect on a Python runtime."""
        self._force_avro = False
        return self

    def is_force_avro_enabled(self) -> bool:
        """Returns the stored Avro setting."""
        return self._force_avro

    def enable_generic_types(self) -> ExecutionConfig:
        """Stores that generic types are allowed; it has no effect on a Python runtime."""
        self._generic_types = True
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        """Stores that generic types are refused; it has no effect on a Python runtime."""
        self._generic_types = False
        return self

    def has_generic_types_disabled(self) -> bool:
        """Returns the stored generic types setting."""
        return not self._generic_types

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Returns the Kryo serialisers of the job: always none, because a Python runtime has no JVM classes."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Returns the types registered with Kryo: always none, because a Python runtime has no JVM classes."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Returns the registered POJO types: always none, because a Python runtime has no JVM classes."""
        return []

    def configure(self, configuration: Configuration) -> None:
        """Takes over the settings that `configuration` holds under Flink's keys; other settings stay."""
        if configuration.contains_key("parallelism.default"):
            self.set_parallelism(configuration.get_integer("parallelism.default", 1))
        if configuration.contains_key("pipeline.max-parallelism"):
            self.set_max_parallelism(configuration.get_integer("pipeline.max-parallelism", -1))
        interval = configuration.get_millis("pipeline.auto-watermark-interval", self._auto_watermark_interval)
        self.set_auto_watermark_interval(interval)
        self.set_latency_tracking_interval(
            configuration.get_millis("metrics.latency.interval", self._latency_tracking_interval)
        )
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._parallelism, self._max_parallelism, self._auto_watermark_interval, self._restart_strategy))


def _not_negative(value: int, what: str) -> int:
    if value < 0:
        msg = f"{what} is {value}; it must be 0 ms or more."
        raise ValueError(msg)
    return value


def _parse_parameters(text: str) -> dict[str, str]:
    pairs = (entry.split(":", 1) for entry in text.split(",") if entry.strip())
    try:
        return {key.strip(): value.strip() for key, value in pairs}
    except ValueError as error:
        msg = f"pipeline.global-job-parameters is {text!r}; write key:value pairs separated by commas."
        raise ValueError(msg) from error
