"""When checkpoints are taken, how they are aligned, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.settings.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from penstock.vocabulary.settings.modes import CheckpointingMode, ExternalizedCheckpointRetention
from penstock.vocabulary.time.durations import Duration, TimeLength, to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["CheckpointConfig"]

_SHORTEST_MS = 10
_KEY = "execution.checkpointing."


class CheckpointConfig:
    """All settings of checkpointing; lengths of time are milliseconds and may be given as `Duration` or `timedelta`.

    Checkpointing is off until an interval is set, which `env.enable_checkpointing(interval)` does.
    """

    DEFAULT_MODE: ClassVar[CheckpointingMode] = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT: ClassVar[int] = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS: ClassVar[int] = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS: ClassVar[int] = 1
    UNDEFINED_TOLERABLE_CHECKPOINT_NUMBER: ClassVar[int] = -1
    UNLIMITED_TOLERABLE_FAILURE_NUMBER: ClassVar[int] = 2**31 - 1

    def __init__(self) -> None:
        """Create the settings of a job that sets nothing."""
        self._mode = self.DEFAULT_MODE
        self._interval = -1
        self._timeout = self.DEFAULT_TIMEOUT
        self._min_pause = self.DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS
        self._max_concurrent = self.DEFAULT_MAX_CONCURRENT_CHECKPOINTS
        self._tolerable_failures = 0
        self._retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        self._num_retained = 1
        self._unaligned = False
        self._force_unaligned = False
        self._aligned_timeout = Duration.of_millis(0)
        self._after_tasks_finish = True
        self._storage: CheckpointStorage | None = None

    def is_checkpointing_enabled(self) -> bool:
        """Tell whether checkpoints are taken at all."""
        return self._interval > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return how often a record may affect state after a recovery."""
        return self._mode

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> None:
        """Set how often a record may affect state after a recovery."""
        require_instance(checkpointing_mode, CheckpointingMode, "The checkpointing mode must be a CheckpointingMode.")
        _require_exactly_once(checkpointing_mode, unaligned=self._unaligned)
        self._mode = checkpointing_mode

    def get_checkpoint_interval(self) -> int:
        """Return the milliseconds from the start of a checkpoint to the start of the next, or -1 if it is off."""
        return self._interval

    def set_checkpoint_interval(self, checkpoint_interval: TimeLength) -> None:
        """Set the milliseconds from the start of a checkpoint to the start of the next."""
        self._interval = _at_least(to_millis(checkpoint_interval), _SHORTEST_MS, "The checkpoint interval", " ms")

    def get_checkpoint_timeout(self) -> int:
        """Return after how many milliseconds a checkpoint that is not complete is given up."""
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: TimeLength) -> None:
        """Set after how many milliseconds a checkpoint that is not complete is given up."""
        self._timeout = _at_least(to_millis(checkpoint_timeout), _SHORTEST_MS, "The checkpoint timeout", " ms")

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the milliseconds that must pass from the end of a checkpoint to the start of the next."""
        return self._min_pause

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: TimeLength) -> None:
        """Set the milliseconds that must pass from the end of a checkpoint to the start of the next.

        A pause that is longer than the interval wins.
        """
        self._min_pause = _at_least(to_millis(min_pause_between_checkpoints), 0, "The pause between checkpoints", " ms")

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be under way at the same time."""
        return self._max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> None:
        """Set how many checkpoints may be under way at the same time."""
        number = _at_least(max_concurrent_checkpoints, 1, "The number of concurrent checkpoints")
        _require_one_at_a_time(number, unaligned=self._unaligned)
        self._max_concurrent = number

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints in a row may fail without failing the job."""
        return self._tolerable_failures

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> None:
        """Set how many checkpoints in a row may fail without failing the job."""
        self._tolerable_failures = _at_least(
            tolerable_checkpoint_failure_number, 0, "The number of tolerable checkpoint failures"
        )

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Tell whether the first checkpoint that fails also fails the job."""
        return self._tolerable_failures == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> None:  # noqa: FBT001
        """Tolerate no failed checkpoint at all, or any number of them."""
        self._tolerable_failures = 0 if fail_on_checkpointing_errors else self.UNLIMITED_TOLERABLE_FAILURE_NUMBER

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Tell whether completed checkpoints may outlive the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what becomes of completed checkpoints when the job ends."""
        return self._retention

    def set_externalized_checkpoint_retention(self, retention_mode: ExternalizedCheckpointRetention) -> None:
        """Set what becomes of completed checkpoints when the job ends."""
        message = "The retention of checkpoints must be an ExternalizedCheckpointRetention."
        require_instance(retention_mode, ExternalizedCheckpointRetention, message)
        self._retention = retention_mode

    def enable_externalized_checkpoints(self, cleanup_mode: ExternalizedCheckpointRetention) -> None:
        """Do what `set_externalized_checkpoint_retention` does, under its older name."""
        self.set_externalized_checkpoint_retention(cleanup_mode)

    def get_num_retained_checkpoints(self) -> int:
        """Return how many completed checkpoints are kept."""
        return self._num_retained

    def set_num_retained_checkpoints(self, num_retained: int) -> None:
        """Set how many completed checkpoints are kept; older ones are deleted."""
        self._num_retained = _at_least(num_retained, 1, "The number of retained checkpoints")

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether barriers may overtake records, which then become part of the checkpoint."""
        return self._unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> None:  # noqa: FBT001, FBT002 - PyFlink's
        """Let barriers overtake records, which needs EXACTLY_ONCE and one checkpoint at a time."""
        _require_exactly_once(self._mode, unaligned=enabled)
        _require_one_at_a_time(self._max_concurrent, unaligned=enabled)
        self._unaligned = enabled

    def disable_unaligned_checkpoints(self) -> None:
        """Take back `enable_unaligned_checkpoints`."""
        self.enable_unaligned_checkpoints(enabled=False)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether jobs with `partition_custom` may have unaligned checkpoints, too."""
        return self._force_unaligned

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> None:  # noqa: FBT001, FBT002
        """Set whether jobs with `partition_custom` may have unaligned checkpoints, too.

        They are refused otherwise, as in Flink: records in flight go to other subtasks after a rescaling, and where a
        partitioner of the program would send them is not known.
        """
        self._force_unaligned = force_unaligned_checkpoints

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return how long an unaligned checkpoint tries to be an aligned one; 0 is not at all."""
        return self._aligned_timeout

    def set_aligned_checkpoint_timeout(self, alignment_timeout: TimeLength) -> None:
        """Set how long an unaligned checkpoint tries to be an aligned one; 0 is not at all."""
        millis = _at_least(to_millis(alignment_timeout), 0, "The timeout of aligned checkpoints", " ms")
        self._aligned_timeout = Duration.of_millis(millis)

    def get_alignment_timeout(self) -> Duration:
        """Return what `get_aligned_checkpoint_timeout` returns, under its older name."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: TimeLength) -> None:
        """Do what `set_aligned_checkpoint_timeout` does, under its older name."""
        self.set_aligned_checkpoint_timeout(alignment_timeout)

    def is_checkpointing_after_tasks_finish(self) -> bool:
        """Tell whether checkpoints are still taken when some subtasks have processed all their input.

        If not, what a sink that commits with checkpoints got after the last one stays uncommitted when the job ends.
        """
        return self._after_tasks_finish

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where checkpoints are kept, or None if the program does not say."""
        return self._storage

    def set_checkpoint_storage(self, storage: CheckpointStorage | str) -> None:
        """Set where checkpoints are kept; a string is a directory."""
        self._storage = FileSystemCheckpointStorage(storage) if isinstance(storage, str) else storage

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> None:
        """Keep checkpoints as files below a directory."""
        self.set_checkpoint_storage(checkpoint_path)

    def configure(self, configuration: Configuration) -> None:
        """Take over the settings that `configuration` holds under Flink's keys; other settings stay."""
        if configuration.contains_key(_KEY + "interval"):
            self.set_checkpoint_interval(configuration.get_millis(_KEY + "interval", 0))
        mode = configuration.get_string(_KEY + "mode", None)
        if mode is not None:
            self.set_checkpointing_mode(CheckpointingMode[_member(mode, CheckpointingMode, _KEY + "mode")])
        self.set_checkpoint_timeout(configuration.get_millis(_KEY + "timeout", self._timeout))
        self.set_min_pause_between_checkpoints(configuration.get_millis(_KEY + "min-pause", self._min_pause))
        self.set_max_concurrent_checkpoints(
            configuration.get_integer(_KEY + "max-concurrent-checkpoints", self._max_concurrent)
        )
        self.set_tolerable_checkpoint_failure_number(
            configuration.get_integer(_KEY + "tolerable-failed-checkpoints", self._tolerable_failures)
        )
        for key in (_KEY + "externalized-checkpoint-retention", _KEY + "externalized-checkpoint-retention-mode"):
            retention = configuration.get_string(key, None)
            if retention is not None:
                name = _member(retention, ExternalizedCheckpointRetention, key)
                self.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention[name])
        retained = configuration.first_key(_KEY + "num-retained", "state.checkpoints.num-retained")
        if retained is not None:
            self.set_num_retained_checkpoints(configuration.get_integer(retained, 1))
        self._force_unaligned = configuration.get_boolean(_KEY + "unaligned.forced", self._force_unaligned)
        timeout = configuration.get_millis(_KEY + "aligned-checkpoint-timeout", self._aligned_timeout.to_millis())
        self.set_aligned_checkpoint_timeout(timeout)
        unaligned = configuration.first_key(_KEY + "unaligned.enabled", _KEY + "unaligned")
        if unaligned is not None:
            self.enable_unaligned_checkpoints(enabled=configuration.get_boolean(unaligned, self._unaligned))
        self._after_tasks_finish = configuration.get_boolean(
            _KEY + "checkpoints-after-tasks-finish.enabled",
            configuration.get_boolean(_KEY + "checkpoints-after-tasks-finish", self._after_tasks_finish),
        )
        storage = CheckpointStorage.from_configuration(configuration)
        if storage is None and isinstance(self._storage, FileSystemCheckpointStorage):
            storage = self._storage.configured(configuration)
        self._storage = storage or self._storage


def _at_least(value: int, least: int, what: str, unit: str = "") -> int:
    if value < least:
        msg = f"{what} is {value}{unit}; it must be {least}{unit} or more."
        raise ValueError(msg)
    return value


def _require_exactly_once(mode: CheckpointingMode, *, unaligned: bool) -> None:
    if unaligned and mode is not CheckpointingMode.EXACTLY_ONCE:
        msg = "Unaligned checkpoints need the mode EXACTLY_ONCE; set that mode or disable unaligned checkpoints."
        raise ValueError(msg)


def _require_one_at_a_time(max_concurrent: int, *, unaligned: bool) -> None:
    if unaligned and max_concurrent > 1:
        msg = "Unaligned checkpoints run one at a time; set max_concurrent_checkpoints to 1 or disable them."
        raise ValueError(msg)


def _member(text: str, kind: type[CheckpointingMode | ExternalizedCheckpointRetention], key: str) -> str:
    name = text.strip().upper().replace("-", "_")
    if name not in kind.__members__:
        msg = f"{key} is {text!r}; write one of {', '.join(kind.__members__)}."
        raise ValueError(msg)
    return name
