"""Which directory below the base path of a file sink a record belongs in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.files.sink.bucket_date_pattern import date_pattern, has_parts_of_a_second
from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

__all__ = ["BasePathBucketAssigner", "BucketAssigner", "BucketContext", "DateTimeBucketAssigner", "buckets_by_time"]

T = TypeVar("T")


class BucketContext:
    """What a bucket assigner may ask about the record in its hands."""

    __slots__ = ("_now", "_watermark", "record_time")

    def __init__(self, now: int, watermark: Callable[[], int]) -> None:
        """Create the context of a run of records; ``record_time`` is set for each of them."""
        self._now = now
        self._watermark = watermark
        self.record_time: int | None = None

    def current_processing_time(self) -> int:
        """Return the time of the clock, in milliseconds."""
        return self._now

    def current_watermark(self) -> int:
        """Return the event time that the sink has reached, in milliseconds."""
        return self._watermark()

    def timestamp(self) -> int | None:
        """Return the event time of the record, in milliseconds, or None if it has none."""
        return self.record_time


class BucketAssigner(ABC, Generic[T]):
    """Chooses the bucket of each record: a directory below the sink's base path.

    Example:
        >>> class ByCountry(BucketAssigner):
        ...     def get_bucket_id(self, element, context):
        ...         return f"country={element['country']}"
    """

    @abstractmethod
    def get_bucket_id(self, element: T, context: BucketContext) -> str:
        """Return the path of the bucket below the base path; an empty one is the base path itself."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner[Any]:
        """Return the assigner that puts everything into the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner[Any]:
        """Return the assigner that names buckets after the time at which a record is written."""
        return DateTimeBucketAssigner(format_str, timezone_id)


class BasePathBucketAssigner(BucketAssigner[Any]):
    """Puts everything into the base path."""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Return the empty bucket id."""
        return ""


class DateTimeBucketAssigner(BucketAssigner[Any]):
    """Names buckets after the processing time, in a pattern of Java's: one bucket for each hour unless told otherwise.

    Args:
        format_str: A pattern of ``java.time.format.DateTimeFormatter``.
        timezone_id: The name of a time zone, such as ``Europe/Berlin``; the system's own by default.
    """

    def __init__(self, format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> None:
        date_pattern(format_str)
        self._pattern = format_str
        self._zone = None if timezone_id is None else _zone(timezone_id)
        self._unit = 1 if has_parts_of_a_second(format_str) else 1000
        self._last: tuple[int, str] | None = None
        self._write: Callable[[datetime], str] | None = None

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Return the current time in the pattern."""
        return self.bucket_at(context.current_processing_time())

    def bucket_at(self, now: int) -> str:
        """Return a time, in milliseconds, in the pattern."""
        unit = now // self._unit
        if self._last is not None and self._last[0] == unit:
            return self._last[1]
        if self._write is None:
            self._write = date_pattern(self._pattern)
        moment = datetime.fromtimestamp(now // 1000, UTC).replace(microsecond=now % 1000 * 1000)
        bucket = self._write(moment.astimezone(self._zone))
        self._last = unit, bucket
        return bucket

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None, "_write": None}


def buckets_by_time(assigner: BucketAssigner[Any]) -> Callable[[int], str] | None:
    """Return the function from time to bucket if nothing else decides, so that it is asked once for many records."""
    # A subclass may decide otherwise: only the classes themselves are known.
    if type(assigner) is BasePathBucketAssigner:
        return lambda now: ""
    return assigner.bucket_at if type(assigner) is DateTimeBucketAssigner else None


def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        message = f"There is no time zone {name!r} on this machine; the names are like UTC or Europe/Berlin."
        raise ProgramError(message) from error
