"""What a submitted job is known by: its id, its status, its result, and the future that brings them."""

from __future__ import annotations

import uuid
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CompletableFuture", "JobExecutionResult", "JobID", "JobStatus"]

T = TypeVar("T")

_HEX_LENGTH = 32


class JobID:
    """The identity of a job: 128 random bits, written as 32 hexadecimal digits."""

    __slots__ = ("_hex",)

    def __init__(self, hex_string: str | None = None) -> None:
        """Create a random id, or the one written as `hex_string`."""
        text = uuid.uuid4().hex if hex_string is None else hex_string.lower()
        if len(text) != _HEX_LENGTH or any(digit not in "0123456789abcdef" for digit in text):
            msg = f"{hex_string!r} is not a job id; a job id is {_HEX_LENGTH} hexadecimal digits."
            raise ValueError(msg)
        self._hex = text

    @staticmethod
    def generate() -> JobID:
        """Return a new random id."""
        return JobID()

    @staticmethod
    def from_hex_string(hex_string: str) -> JobID:
        """Return the id written as `hex_string`."""
        return JobID(hex_string)

    def to_hex_string(self) -> str:
        """Return the 32 hexadecimal digits."""
        return self._hex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash(self._hex)

    def __str__(self) -> str:
        return self._hex

    def __repr__(self) -> str:
        return f"JobID({self._hex!r})"


class JobStatus(Enum):
    """Where a job is between submission and its end."""

    CREATED = 0
    """Submitted; no subtask runs yet."""
    RUNNING = 1
    """Subtasks are scheduled or running."""
    FAILING = 2
    """A subtask failed; the others are being stopped."""
    FAILED = 3
    """Ended by a failure that was not recovered."""
    CANCELLING = 4
    """Being stopped because somebody asked for it."""
    CANCELED = 5
    """Ended because somebody asked for it."""
    FINISHED = 6
    """Ended because all input was processed."""
    RESTARTING = 7
    """Failed and about to be run again."""
    SUSPENDED = 8
    """Stopped here but not ended: another coordinator may take it up."""
    RECONCILING = 9
    """Taken up by a coordinator that is learning its state."""

    def is_globally_terminal_state(self) -> bool:
        """Tell whether the job has ended for good: it will never run again."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Tell whether this coordinator is done with the job, even if another may take it up."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()


@dataclass(frozen=True)
class JobExecutionResult:
    """What a job that ended leaves behind: its id, its running time and its accumulators."""

    job_id: JobID
    net_runtime_ms: int
    accumulators: Mapping[str, Any] = field(default_factory=dict)

    def get_job_id(self) -> JobID:
        """Return the id of the job."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Return how many milliseconds the job ran, without the time before its first step started."""
        return self.net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the final value of an accumulator, or None if the job has none of that name."""
        return self.accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the final values of all accumulators by name."""
        return dict(self.accumulators)

    def __str__(self) -> str:
        lines = ["Program execution finished", f"Job with JobID {self.job_id} has finished."]
        lines.append(f"Job Runtime: {self.net_runtime_ms} ms")
        if self.accumulators:
            lines.append("Accumulator Results:")
            lines.extend(f"- {name}: {value}" for name, value in self.accumulators.items())
        return "\n".join(lines)


class CompletableFuture(Future[T]):
    """A result that is not there yet and that any thread may bring; only the first to bring it succeeds.

    It has all of `concurrent.futures.Future`: `result(timeout)` waits, raises what went wrong, or returns.
    """

    @staticmethod
    def completed_future(value: T) -> CompletableFuture[T]:
        """Return a future that already has its result."""
        future: CompletableFuture[T] = CompletableFuture()
        future.set_result(value)
        return future

    @staticmethod
    def failed_future(exception: BaseException) -> CompletableFuture[Any]:
        """Return a future that already has failed."""
        future: CompletableFuture[Any] = CompletableFuture()
        future.set_exception(exception)
        return future

    def complete(self, value: T) -> bool:
        """Set the result unless the future is done already, and tell whether it did."""
        try:
            self.set_result(value)
        except InvalidStateError:
            return False
        return True

    def complete_exceptionally(self, exception: BaseException) -> bool:
        """Set the failure unless the future is done already, and tell whether it did."""
        try:
            self.set_exception(exception)
        except InvalidStateError:
            return False
        return True
