"""The settings of an environment: parallelism, time, buffering, checkpoints, restarts, files for the workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from penstock.api.argument_checks import location
from penstock.api.checkpoint_settings import CheckpointSettings
from penstock.api.step_settings import check_max_parallelism, check_parallelism
from penstock.errors import ProgramError
from penstock.graph.settings import DEFAULT_BUFFER_TIMEOUT
from penstock.vocabulary.settings.configuration_check import check_configuration
from penstock.vocabulary.settings.execution import ExecutionConfig
from penstock.vocabulary.settings.modes import RuntimeExecutionMode, TimeCharacteristic

if TYPE_CHECKING:
    from penstock.vocabulary.settings.configuration import Configuration
    from penstock.vocabulary.settings.restarts import RestartStrategyConfiguration

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings(CheckpointSettings):
    """What applies to all jobs of an environment."""

    _default_local_parallelism: ClassVar[int | None] = None

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration
        self._config = ExecutionConfig()
        self._is_chaining_enabled = True
        self._buffer_timeout = DEFAULT_BUFFER_TIMEOUT
        self._runtime_mode = RuntimeExecutionMode.STREAMING
        self._time_characteristic = TimeCharacteristic.ProcessingTime
        self._python_files: list[str] = []
        self.configure(configuration)

    def configure(self, configuration: Configuration) -> None:
        """Take over settings given under Flink's keys.

        What cannot be had is refused; a key that does nothing is told in the log, with the nearest one that does.
        """
        check_configuration(configuration)
        self._configuration.add_all(configuration)
        self._config.configure(configuration)
        self._configure_checkpoints(configuration)
        if configuration.contains_key("parallelism.default"):
            self.set_parallelism(configuration.get_integer("parallelism.default", 1))
        if configuration.contains_key("pipeline.max-parallelism"):
            self.set_max_parallelism(configuration.get_integer("pipeline.max-parallelism", 128))
        self._is_chaining_enabled = configuration.get_boolean(
            "pipeline.operator-chaining.enabled",
            configuration.get_boolean("pipeline.operator-chaining", self._is_chaining_enabled),
        )
        self.set_buffer_timeout(
            configuration.get_millis(
                "execution.buffer-timeout.interval",
                configuration.get_millis("execution.buffer-timeout", self.get_buffer_timeout()),
            )
        )
        if not configuration.get_boolean("execution.buffer-timeout.enabled", True):  # noqa: FBT003
            self.set_buffer_timeout(-1)
        mode = configuration.get_string("execution.runtime-mode", None)
        if mode is not None:
            if mode.upper() not in RuntimeExecutionMode.__members__:
                known = ", ".join(RuntimeExecutionMode.__members__)
                message = f"execution.runtime-mode is {mode!r}; write one of {known}."
                raise ProgramError(message, location())
            self.set_runtime_mode(RuntimeExecutionMode[mode.upper()])
        files = configuration.get_string("python.files", None)
        if files:
            for file in files.split(","):
                self.add_python_file(file.strip())

    def get_config(self) -> ExecutionConfig:
        """Return the execution config."""
        return self._config

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the parallelism of all steps that do not set their own."""
        self._config.set_parallelism(check_parallelism(parallelism))
        return self

    def get_parallelism(self) -> int:
        """Return the parallelism of steps that do not set their own."""
        parallelism = self._config.get_parallelism()
        return parallelism if parallelism > 0 else self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups of all steps that do not set their own."""
        self._config.set_max_parallelism(check_max_parallelism(max_parallelism))
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, -1 if it is chosen by the parallelism."""
        return self._config.get_max_parallelism()

    @classmethod
    def get_default_local_parallelism(cls) -> int:
        """Return the parallelism where none is set: the number of cores, unless changed."""
        return cls._default_local_parallelism or os.cpu_count() or 1

    @classmethod
    def set_default_local_parallelism(cls, parallelism: int) -> None:
        """Set the parallelism of environments created from now on."""
        EnvironmentSettings._default_local_parallelism = check_parallelism(parallelism)

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Choose between streaming and batch execution; AUTOMATIC is BATCH if all sources are bounded."""
        self._runtime_mode = execution_mode
        return self

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Choose what ``time_window`` means; event and ingestion time set the auto-watermark interval to 200 ms."""
        self._time_characteristic = characteristic
        if characteristic is TimeCharacteristic.ProcessingTime:
            self._config.set_auto_watermark_interval(0)
        else:
            self._config.set_auto_watermark_interval(200)

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Return what ``time_window`` means."""
        return self._time_characteristic

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long a record may wait for its block while its subtask is busy: 0 sends at once, -1 when full."""
        if timeout_millis < -1:
            message = f"The buffer timeout must be -1 (no limit) or more, not {timeout_millis}."
            raise ProgramError(message, location())
        self._buffer_timeout = (1 << 31) if timeout_millis == -1 else timeout_millis
        return self

    def get_buffer_timeout(self) -> int:
        """Return how long a record may wait for its block to fill."""
        return -1 if self._buffer_timeout == 1 << 31 else self._buffer_timeout

    def disable_operator_chaining(self) -> Self:
        """Run every step in subtasks of its own."""
        self._is_chaining_enabled = False
        return self

    def is_chaining_enabled(self) -> bool:
        """Tell whether steps are chained where possible."""
        return self._is_chaining_enabled

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> None:
        """Set whether and how a failed job is started again."""
        self._config.set_restart_strategy(restart_strategy)

    def get_restart_strategy(self) -> Any:
        """Return whether and how a failed job is started again."""
        return self._config.get_restart_strategy()

    def add_python_file(self, file_path: str) -> None:
        """Send a module, a package directory or a zip to the workers and make it importable there."""
        if not Path(file_path).exists():
            message = f"add_python_file(): there is no file {file_path!r}."
            raise ProgramError(message, location())
        self._python_files.append(str(Path(file_path).resolve()))
