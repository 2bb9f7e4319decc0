"""The environment's settings for state and checkpoints."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from penstock.api.argument_checks import check_function, location
from penstock.errors import ProgramError
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.modes import RecoveryClaimMode
from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.settings.modes import CheckpointingMode
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["CheckpointSettings"]

_log = logging.getLogger("penstock.checkpoints")


class CheckpointSettings:
    """When checkpoints are taken, where they are kept and which backend holds the state."""

    def __init__(self) -> None:
        self._checkpoint_config = CheckpointConfig()
        self._state_backend: StateBackend = HashMapStateBackend()
        self._savepoint_directory: str | None = None
        self._restore_path: str | None = None
        self._allows_non_restored_state = False
        self._renamed_classes: dict[str, str] = {}
        self._claim_mode = RecoveryClaimMode.NO_CLAIM
        self._rocksdb_configuration = Configuration()

    def _configure_checkpoints(self, configuration: Configuration) -> None:
        self._checkpoint_config.configure(configuration)
        self._rocksdb_configuration.add_all(configuration)
        backend = StateBackend.from_configuration(configuration)
        if backend is not None:
            self.set_state_backend(backend)
        elif isinstance(self._state_backend, EmbeddedRocksDBStateBackend):
            self._state_backend.tune(configuration)
        directory = configuration.first_key("execution.checkpointing.savepoint-dir", "state.savepoints.dir")
        if directory is not None:
            self._savepoint_directory = configuration.get_string(directory, None)
        path = configuration.first_key("execution.state-recovery.path", "execution.savepoint.path")
        if path is not None:
            self._restore_path = configuration.get_string(path, None)
        for key in ("execution.state-recovery.ignore-unclaimed-state", "execution.savepoint.ignore-unclaimed-state"):
            self._allows_non_restored_state = configuration.get_boolean(key, self._allows_non_restored_state)
        renamed = configuration.get_string("penstock.renamed-classes", None)
        if renamed is not None:
            self._renamed_classes = _pairs("penstock.renamed-classes", renamed)
        mode = configuration.first_key("execution.state-recovery.claim-mode", "execution.savepoint-restore-mode")
        if mode is not None:
            self._set_claim_mode(mode, str(configuration.get_string(mode, "")))

    def _set_claim_mode(self, key: str, name: str) -> None:
        try:
            self._claim_mode = RecoveryClaimMode.of(name)
        except ValueError as error:
            message = f"{key}: {error}"
            raise ProgramError(message) from None
        if self._claim_mode is RecoveryClaimMode.LEGACY:
            _log.warning("%s: LEGACY is deprecated, in Flink too; the job starts as with NO_CLAIM", key)

    def enable_checkpointing(self, interval: TimeLength, mode: CheckpointingMode | None = None) -> Self:
        """Take a checkpoint every so many milliseconds."""
        millis = to_millis(interval)
        if millis < 1:
            message = f"The checkpoint interval must be at least 1 ms, not {interval!r}."
            raise ProgramError(message, location())
        self._checkpoint_config.set_checkpoint_interval(millis)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpoint settings, which can be changed."""
        return self._checkpoint_config

    def get_checkpoint_interval(self) -> int:
        """Return the interval in milliseconds, -1 if no checkpoints are taken."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return whether records count exactly once or at least once."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return whether records count exactly once or at least once."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether barriers overtake records."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether unaligned checkpoints are forced."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Choose where keyed state is kept; the older backends also say where checkpoints go."""
        check_function(state_backend, StateBackend, "set_state_backend", allow_callable=False)
        self._state_backend = state_backend
        if isinstance(state_backend, EmbeddedRocksDBStateBackend):
            state_backend.tune(self._rocksdb_configuration)
        storage = state_backend.get_checkpoint_storage()
        if storage is not None:
            self._checkpoint_config.set_checkpoint_storage(storage)
        return self

    def get_state_backend(self) -> StateBackend:
        """Return where keyed state is kept."""
        return self._state_backend

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set where savepoints go that are asked for without a directory."""
        self._savepoint_directory = directory
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return where savepoints go that are asked for without a directory."""
        return self._savepoint_directory


def _pairs(key: str, text: str) -> dict[str, str]:
    pairs = [entry.split(":") for entry in text.split(",") if entry.strip()]
    if any(len(pair) != 2 or not all(map(str.strip, pair)) for pair in pairs):
        message = f"{key} is {text!r}; write old:new pairs separated by commas."
        raise ProgramError(message)
    return {old.strip(): new.strip() for old, new in pairs}
