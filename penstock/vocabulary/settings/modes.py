"""The enumerations of a job's settings: how it runs, keeps time, takes checkpoints and starts from them."""

from __future__ import annotations

from enum import Enum

__all__ = [
    "CheckpointKind",
    "CheckpointingMode",
    "ExternalizedCheckpointRetention",
    "InputDependencyConstraint",
    "RecoveryClaimMode",
    "RuntimeExecutionMode",
    "TimeCharacteristic",
    "TimeDomain",
]


class RuntimeExecutionMode(Enum):
    """Whether a job runs as an endless stream or as a batch over bounded input."""

    STREAMING = 0
    """All steps run at once and results are updated as records arrive."""
    BATCH = 1
    """Steps run one after the other over bounded input and give final results only."""
    AUTOMATIC = 2
    """BATCH if every source is bounded, STREAMING otherwise."""


class CheckpointingMode(Enum):
    """How often a record may affect state when a job recovers from a failure."""

    EXACTLY_ONCE = 0
    """Barriers are aligned: every record affects the state once."""
    AT_LEAST_ONCE = 1
    """Barriers are not aligned: after a recovery a record may affect the state more than once."""


class ExternalizedCheckpointRetention(Enum):
    """What becomes of a job's completed checkpoints when the job ends."""

    DELETE_ON_CANCELLATION = 0
    """They are deleted when the job is cancelled and kept when it fails."""
    RETAIN_ON_CANCELLATION = 1
    """They are kept when the job is cancelled and when it fails."""
    NO_EXTERNALIZED_CHECKPOINTS = 2
    """They are deleted when the job ends, whichever way."""


class TimeCharacteristic(Enum):
    """The notion of time that `time_window` and timers use unless told otherwise."""

    ProcessingTime = 0
    """The clock of the machine that processes the record."""
    IngestionTime = 1
    """The time at which the record entered the job."""
    EventTime = 2
    """The time at which the event happened, taken from the record."""


class TimeDomain(Enum):
    """The notion of time by which a timer was registered."""

    EVENT_TIME = 0
    """The timer fires when the watermark passes it."""
    PROCESSING_TIME = 1
    """The timer fires when the clock passes it."""


class InputDependencyConstraint(Enum):
    """Which of a task's inputs must have data before the task is scheduled.

    Flink has dropped the option that takes this value; the name is kept for programs that mention it.
    """

    ANY = 0
    """One input with data is enough."""
    ALL = 1
    """Every input must have data."""


class RecoveryClaimMode(Enum):
    """What a job may do with the snapshot it starts from."""

    CLAIM = "CLAIM"
    """The job owns it, as if it were a checkpoint of its own: it is deleted when newer ones replace it."""
    NO_CLAIM = "NO_CLAIM"
    """The job leaves it alone, and needs nothing of it any more once its own first checkpoint is complete."""
    LEGACY = "LEGACY"
    """Flink's way before 1.15, which it has deprecated: never deleted, and maybe needed for ever. Here as NO_CLAIM."""

    @staticmethod
    def of(name: str) -> RecoveryClaimMode:
        """Return the mode of a name, in any case.

        Raises:
            ValueError: There is no such mode.
        """
        try:
            return RecoveryClaimMode[name.strip().upper().replace("-", "_")]
        except KeyError:
            names = ", ".join(mode.name for mode in RecoveryClaimMode)
            message = f"The claim mode is one of {names}, not {name!r}."
            raise ValueError(message) from None


class CheckpointKind(Enum):
    """Why a checkpoint is taken."""

    PERIODIC = "checkpoint"
    """By the interval; the job restarts from it."""
    FINAL = "final checkpoint"
    """All input has ended; sinks commit the rest of their output when it is complete."""
    SAVEPOINT = "savepoint"
    """Somebody asked for it; it belongs to whoever asked and is never deleted by the job."""
    STOP = "stop-with-savepoint"
    """A savepoint after which the job stops: sources emit nothing behind the barrier."""

    @property
    def is_savepoint(self) -> bool:
        """Tell whether the result belongs to the user."""
        return self in (CheckpointKind.SAVEPOINT, CheckpointKind.STOP)
