"""The exceptions of Penstock, all of them.

::

    PenstockError
    ├── ProgramError                the program is wrong; raised where it is written or at execute(), before Spark runs
    │   ├── MalformedPatternException  a pattern of events contradicts itself
    │   ├── MissingTimestampError   event time is used, but a record has no timestamp
    │   └── StateAccessError        keyed state or a timer is used where there is no key
    ├── UserFunctionError           a function of the program raised; its own exception is the cause
    ├── SerializationError          a value or a function cannot be pickled
    ├── MalformedRecordError        a source found a record it cannot read; names the file or topic and the place
    ├── ExternalSystemError         a database, broker or the like cannot be reached, or refuses what it is asked for
    ├── CheckpointError             a checkpoint or savepoint cannot be taken, stored, found or used
    │   ├── CheckpointStorageError  the directory for checkpoints or savepoints cannot be written
    │   ├── CorruptCheckpointError  a file of it is missing, truncated or damaged; names the file
    │   └── StateRestoreError       state cannot be read back; names the operator, the state and the key group
    ├── ClusterError                Spark, Java or the cluster is not what the job needs
    │   └── NotEnoughSlotsError     fewer task slots than subtasks that must run at the same time
    ├── JobFailedError              the job ended in failure; says which step and why
    │   ├── DriverPausedError       the driver did not run for long, and its tasks gave it up
    │   └── WorkerLostError         a worker or an executor died under the job
    └── JobCancelledError           the result of a cancelled job was asked for
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "CheckpointError",
    "CheckpointStorageError",
    "ClusterError",
    "CorruptCheckpointError",
    "DriverPausedError",
    "ExternalSystemError",
    "JobCancelledError",
    "JobFailedError",
    "MalformedPatternException",
    "MalformedRecordError",
    "MissingTimestampError",
    "NotEnoughSlotsError",
    "PenstockError",
    "ProgramError",
    "SerializationError",
    "StateAccessError",
    "StateRestoreError",
    "UnusableKeyError",
    "UserFunctionError",
    "WorkerLostError",
]


class PenstockError(Exception):
    """The root of everything Penstock raises on purpose."""


class ProgramError(PenstockError, ValueError):
    """A program that cannot run, refused before anything starts.

    Args:
        message: What is wrong and what to do.
        location: ``file:line`` of the user's call, appended to the message.
    """

    def __init__(self, message: str, location: str | None = None) -> None:
        super().__init__(f"{message}\n  at {location}" if location else message)
        self.location = location


class MalformedPatternException(ProgramError):
    """A pattern of events that contradicts itself, or that no input could complete."""


class MissingTimestampError(ProgramError):
    """A record without a timestamp reached an operation that works in event time."""


class StateAccessError(ProgramError):
    """Keyed state or a timer was used where there is no current key."""


class UnusableKeyError(ProgramError):
    """A key selector returned something that cannot be compared with the keys of other records."""


class SerializationError(PenstockError):
    """A value or function could not be turned into bytes."""


class MalformedRecordError(PenstockError):
    """A record of a source cannot be read.

    Args:
        origin: The file, or the topic and partition.
        position: Where the record is there.
        content: The record as it was found.
        problem: Why it cannot be read.
    """

    def __init__(self, origin: str, position: object, content: bytes | str, problem: str) -> None:
        super().__init__(
            f"A record cannot be read: {problem}\n"
            f"  source     {origin}\n  position   {position}\n  record     {content!r:.500}\n"
            "  Correct the input, or let the source send such records to a side output."
        )
        self.origin = origin
        self.position = position
        self.content = content
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return MalformedRecordError, (self.origin, self.position, self.content, self.problem)


class ExternalSystemError(PenstockError):
    """A system that a job reads from or writes to cannot be reached, or refuses what it is asked for."""


class CheckpointError(PenstockError):
    """A checkpoint or savepoint cannot be taken, stored, found or used."""


class CheckpointStorageError(CheckpointError):
    """A directory for checkpoints or savepoints cannot be written; a job that needs it does not start."""


class CorruptCheckpointError(CheckpointError):
    """A file of a checkpoint is missing, truncated or damaged.

    Args:
        file: The path of the file.
        problem: What is wrong with it.
    """

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(
            f"The checkpoint cannot be used: {file} {problem}. Restore from another retained checkpoint or a savepoint."
        )
        self.file = file
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return CorruptCheckpointError, (self.file, self.problem)


class StateRestoreError(CheckpointError):
    """State cannot be read back.

    Args:
        problem: What is wrong and what to do.
        operator: The operator whose state it is.
        state: The name of the state.
        key_group: The key group that is being read.
    """

    def __init__(
        self, problem: str, operator: str | None = None, state: str | None = None, key_group: int | None = None
    ) -> None:
        places = {"operator": operator, "state": state, "key group": key_group}
        lines = [f"  {name:<10} {place!r}" for name, place in places.items() if place is not None]
        super().__init__("\n".join([problem, *lines]))
        self.problem = problem
        self.operator = operator
        self.state = state
        self.key_group = key_group

    def __reduce__(self) -> tuple[Any, ...]:
        return StateRestoreError, (self.problem, self.operator, self.state, self.key_group)


class ClusterError(PenstockError):
    """Spark, Java or the cluster is not what the job needs."""


class NotEnoughSlotsError(ClusterError):
    """The job needs more task slots at the same time than Spark has."""


class UserFunctionError(PenstockError):
    """A function of the program raised.

    The message carries the step, the function with its file and line, and the record; the user's traceback comes first.
    It is empty where a built-in function such as ``int`` failed on the record.
    """

    def __init__(self, *, step: str, function: str, error: str, user_traceback: str, record: str | None = None) -> None:
        lines = [user_traceback.rstrip(), ""] if user_traceback else []
        lines += [error, f"  in step    {step!r}", f"  function   {function}"]
        if record is not None:
            lines.append(f"  record     {record}")
        super().__init__("\n".join(lines))
        self.step = step
        self.function = function
        self.error = error
        self.user_traceback = user_traceback
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {
            "step": self.step,
            "function": self.function,
            "error": self.error,
            "user_traceback": self.user_traceback,
            "record": self.record,
        }
        return _rebuild_user_function_error, (fields,)


def _rebuild_user_function_error(fields: dict[str, Any]) -> UserFunctionError:
    return UserFunctionError(**fields)


class JobFailedError(PenstockError):
    """The job ended in failure."""


class WorkerLostError(JobFailedError):
    """A Python worker or a Spark executor died while the job was running."""


class DriverPausedError(JobFailedError):
    """The driver did not run for so long that its tasks gave it up; it does not go on with the job."""


class JobCancelledError(PenstockError):
    """The job was cancelled before it had a result."""
