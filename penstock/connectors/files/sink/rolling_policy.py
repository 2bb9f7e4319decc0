"""When the file that a file sink is writing is closed and another one begun."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.time.durations import TimeLength

__all__ = [
    "UNLIMITED",
    "CheckpointRollingPolicy",
    "DefaultRollingPolicy",
    "DefaultRollingPolicyBuilder",
    "OnCheckpointRollingPolicy",
    "PartFileInfo",
    "RollingPolicy",
    "size_limit",
]

T = TypeVar("T")

UNLIMITED = 1 << 62
"""The size of a file that is closed for other reasons than its size."""


class PartFileInfo(Protocol):
    """What a rolling policy may ask about the file that is being written."""

    def get_bucket_id(self) -> str:
        """Return the bucket of the file."""

    def get_creation_time(self) -> int:
        """Return when the file was begun, in milliseconds."""

    def get_size(self) -> int:
        """Return the number of bytes written so far."""

    def get_last_update_time(self) -> int:
        """Return when the last record was written, in milliseconds."""


class RollingPolicy(ABC, Generic[T]):
    """Says when a part file is closed; it becomes visible with the next checkpoint.

    Example:
        >>> class AtMidnight(RollingPolicy):
        ...     def should_roll_on_checkpoint(self, part_file_state):
        ...         return False
        ...     def should_roll_on_processing_time(self, part_file_state, current_time):
        ...         return current_time // 86_400_000 > part_file_state.get_creation_time() // 86_400_000
    """

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Tell, at a checkpoint, whether the file is to be closed."""

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: T) -> bool:
        """Tell whether the file is to be closed before this record, which then begins the next one."""
        return False

    def should_roll_on_processing_time(self, part_file_state: PartFileInfo, current_time: int) -> bool:
        """Tell whether the file is to be closed at this time; asked once in every bucket check interval."""
        return False

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """Return the policy that rolls by size in bytes, age and idleness in milliseconds."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy that rolls at every checkpoint."""
        return OnCheckpointRollingPolicy()


_STEP_MILLIS = 1000
"""How far ahead of the clock a file may have been written; clocks are corrected by less all the time."""


class DefaultRollingPolicy(RollingPolicy[Any]):
    """Rolls when a file is large enough, has been open for long enough or has got nothing new for a while.

    Args:
        part_size: The size in bytes at which a file is closed.
        rollover_interval: How long a file may be open, in milliseconds or as a duration.
        inactivity_interval: How long a file may go without a new record, in milliseconds or as a duration.
    """

    def __init__(
        self,
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: TimeLength = 60 * 1000,
        inactivity_interval: TimeLength = 60 * 1000,
    ) -> None:
        self.part_size = part_size
        self.rollover_interval = to_millis(rollover_interval)
        self.inactivity_interval = to_millis(inactivity_interval)
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            if getattr(self, name) <= 0:
                message = f"The {name} of a rolling policy is {getattr(self, name)}; it must be more than 0."
                raise ProgramError(message)

    @staticmethod
    def builder() -> DefaultRollingPolicyBuilder:
        """Return a builder, as Java has it."""
        return DefaultRollingPolicyBuilder()

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Tell whether the file is large enough."""
        return part_file_state.get_size() >= self.part_size

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        """Tell whether the file is large enough."""
        return part_file_state.get_size() >= self.part_size

    def should_roll_on_processing_time(self, part_file_state: PartFileInfo, current_time: int) -> bool:
        """Tell whether the file has been open, or idle, for long enough."""
        age = current_time - part_file_state.get_creation_time()
        idleness = current_time - part_file_state.get_last_update_time()
        # A file of the future was written before somebody set the clock back: its age cannot be told any more.
        return age >= self.rollover_interval or idleness >= self.inactivity_interval or idleness < -_STEP_MILLIS


class DefaultRollingPolicyBuilder:
    """Builds a `DefaultRollingPolicy` limit by limit."""

    def __init__(self) -> None:
        self._limits: dict[str, Any] = {}

    def with_max_part_size(self, part_size: int) -> DefaultRollingPolicyBuilder:
        """Close a file at this size in bytes."""
        return self._with("part_size", part_size)

    def with_rollover_interval(self, rollover_interval: TimeLength) -> DefaultRollingPolicyBuilder:
        """Close a file that has been open for this long."""
        return self._with("rollover_interval", rollover_interval)

    def with_inactivity_interval(self, inactivity_interval: TimeLength) -> DefaultRollingPolicyBuilder:
        """Close a file that has got nothing new for this long."""
        return self._with("inactivity_interval", inactivity_interval)

    def build(self) -> DefaultRollingPolicy:
        """Return the policy."""
        return DefaultRollingPolicy(**self._limits)

    def _with(self, name: str, limit: Any) -> DefaultRollingPolicyBuilder:
        self._limits[name] = limit
        return self


class CheckpointRollingPolicy(RollingPolicy[T]):
    """Rolls at every checkpoint, and earlier if a subclass says so; what bulk formats need."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Return True."""
        return True


class OnCheckpointRollingPolicy(CheckpointRollingPolicy[Any]):
    """Rolls at every checkpoint, never in between."""


def size_limit(policy: RollingPolicy[Any]) -> int | None:
    """Return the size at which a file is closed, or None if the policy must be asked before each record."""
    # A subclass may decide otherwise: only the methods themselves are known.
    if type(policy).should_roll_on_event is DefaultRollingPolicy.should_roll_on_event:
        assert isinstance(policy, DefaultRollingPolicy)
        return policy.part_size
    return UNLIMITED if type(policy).should_roll_on_event is RollingPolicy.should_roll_on_event else None
