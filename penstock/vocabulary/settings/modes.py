"""The enumerations by which a program says how its job runs, keeps time and checkpoints."""

from enum import Enum

__all__ = [
    "CheckpointingMode",
    "ExternalizedCheckpointRetention",
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
