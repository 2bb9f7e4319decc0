"""How a stream gets its event time: timestamps, watermarks, idleness and alignment, as a value."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import UnusableValueError, require_instance, shown
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.time.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGenerator,
)
from penstock.vocabulary.time.legacy_assigners import (
    IngestionTimeAssigner,
    LegacyAssigner,
    LegacyTimestamps,
    LegacyWatermarks,
)
from penstock.vocabulary.time.timestamp_assigners import TimestampAssigner, timestamp_assigner_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["TimestampsOnly", "WatermarkAlignment", "WatermarkStrategy"]

_ALIGNMENT_UPDATE_INTERVAL_MS = 1000


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """Says how far the sources of a group may run ahead of the slowest one."""

    group: str
    max_drift_ms: int
    update_interval_ms: int = _ALIGNMENT_UPDATE_INTERVAL_MS


class WatermarkStrategy(ABC):
    """Says how records get timestamps and how watermarks follow from them.

    A strategy is a value: each ``with_*`` method returns a new one that keeps everything set before. Besides the
    strategies made by the ``for_*`` methods, a program may subclass it and define ``create_watermark_generator``
    and ``create_timestamp_assigner``.

    Example:
        >>> from penstock.vocabulary.time.durations import Duration
        >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
        >>> strategy = strategy.with_timestamp_assigner(lambda reading, _: reading["ts"])
        >>> strategy.with_idleness(Duration.of_minutes(1)).idle_timeout_ms
        60000
    """

    # Class attributes, so that a user's subclass need not call super().__init__().
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None
    _timestamp_assigner: TimestampAssigner | None = None
    _made_timestamp_assigner: TimestampAssigner | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Make watermarks for timestamps that never decrease: max - 1 ms."""
        return _SuppliedStrategy(AscendingTimestampsWatermarks)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeLength) -> WatermarkStrategy:
        """Make watermarks for records that come late by at most the given time: max - bound - 1 ms."""
        return _SuppliedStrategy(_BoundedOutOfOrderness(to_millis(max_out_of_orderness)))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Make no watermarks."""
        return _SuppliedStrategy(NoWatermarksGenerator)

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator[Any]]) -> WatermarkStrategy:
        """Make watermarks by the program's own generator, given as its class or as a function that makes one."""
        return _SuppliedStrategy(generator_supplier)

    @staticmethod
    def for_legacy_assigner(assigner: LegacyAssigner[Any]) -> WatermarkStrategy:
        """Make timestamps and watermarks by an assigner of the older kind."""
        return _LegacyStrategy(assigner)

    @staticmethod
    def for_ingestion_time() -> WatermarkStrategy:
        """Make timestamps of the times at which records arrive, and watermarks to match."""
        return _LegacyStrategy(IngestionTimeAssigner())

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]) -> Self:
        """Set how timestamps are extracted: an assigner or a callable ``(value, record_timestamp) -> timestamp``."""
        return self._with(_timestamp_assigner=timestamp_assigner_of(timestamp_assigner))

    def with_idleness(self, idle_timeout: TimeLength) -> Self:
        """Leave an input without records for that long out of the reckoning of time."""
        timeout = to_millis(idle_timeout)
        if timeout <= 0:
            msg = f"The idle timeout must be at least one millisecond, but is {idle_timeout!r}."
            raise ProgramError(msg)
        return self._with(idle_timeout_ms=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: TimeLength,
        update_interval: TimeLength | None = None,
    ) -> Self:
        """Pause sources that are further ahead of the slowest one of their group than the drift allows."""
        interval = _ALIGNMENT_UPDATE_INTERVAL_MS if update_interval is None else to_millis(update_interval)
        drift = to_millis(max_allowed_watermark_drift)
        if not watermark_group or drift < 0 or interval <= 0:
            msg = (
                "Watermark alignment needs a group name, a drift that is not negative and a positive update interval, "
                f"not {watermark_group!r}, {max_allowed_watermark_drift!r} and {update_interval!r}."
            )
            raise ProgramError(msg)
        return self._with(alignment=WatermarkAlignment(watermark_group, drift, interval))

    @property
    def timestamp_assigner(self) -> TimestampAssigner | None:
        """The assigner set or made by this strategy; None leaves records the timestamps they have."""
        if self._timestamp_assigner is not None:
            return self._timestamp_assigner
        if self._made_timestamp_assigner is None:
            # Kept, so that an assigner with a memory is one object however often it is read.
            self._made_timestamp_assigner = self.create_timestamp_assigner(None)
        return self._made_timestamp_assigner

    @property
    def makes_watermarks(self) -> bool:
        """Tell whether watermarks come of this strategy, as far as can be said without making a generator."""
        return True

    def create_generator(self) -> WatermarkGenerator[Any]:
        """Return a new generator, for one split or subtask."""
        made: object = self.create_watermark_generator(None)
        if not isinstance(made, WatermarkGenerator):
            problem = f"{self!r} made {shown(made)}, which is no WatermarkGenerator."
            raise UnusableValueError(problem, getattr(self, "_supplier", self.create_watermark_generator))
        return made

    def isolated(self) -> Self:
        """Return the same strategy with stateful parts of its own, for one split or subtask."""
        return self._with(_made_timestamp_assigner=None)

    @abstractmethod
    def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Any]:
        """Return a new generator. ``context`` is there for Flink's signature and is None."""

    def create_timestamp_assigner(self, context: Any) -> TimestampAssigner | None:
        """Return a new timestamp assigner; a subclass may define it. ``context`` is None."""
        return None

    def _with(self, **changes: Any) -> Self:
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed

    def __repr__(self) -> str:
        return type(self).__name__


class _SuppliedStrategy(WatermarkStrategy):
    """Takes its generators from a supplier."""

    def __init__(self, supplier: Any) -> None:
        if isinstance(supplier, WatermarkGenerator) or not callable(supplier):
            msg = (
                "for_generator needs the generator's class or a function that makes one, because every subtask needs "
                f"its own, not {supplier!r}: write for_generator(MyGenerator) or for_generator(lambda: ...)."
            )
            raise TypeError(msg)
        self._supplier: Callable[[], WatermarkGenerator[Any]] = supplier

    @property
    def makes_watermarks(self) -> bool:
        return self._supplier is not NoWatermarksGenerator

    def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Any]:
        return self._supplier()

    def __repr__(self) -> str:
        name = getattr(self._supplier, "__qualname__", None) or repr(self._supplier)
        return f"WatermarkStrategy({name})"


@dataclass(frozen=True)
class _BoundedOutOfOrderness:
    """Supplies generators with a bound; a class instead of a lambda, so that plain pickle takes it."""

    bound_ms: int

    def __post_init__(self) -> None:
        BoundedOutOfOrdernessWatermarks(self.bound_ms)  # refuses a wrong bound where the program says it

    def __call__(self) -> WatermarkGenerator[Any]:
        return BoundedOutOfOrdernessWatermarks(self.bound_ms)

    def __repr__(self) -> str:
        return f"BoundedOutOfOrderness {self.bound_ms} ms"


class _LegacyStrategy(WatermarkStrategy):
    """Takes timestamps and watermarks from one and the same legacy assigner."""

    def __init__(self, assigner: LegacyAssigner[Any]) -> None:
        require_instance(assigner, LegacyAssigner, "A legacy assigner has periodic or punctuated watermarks.")
        self._assigner = assigner
        self._timestamp_assigner = LegacyTimestamps(assigner)

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]) -> Self:
        # The watermarks follow from the timestamps that the legacy assigner extracts, from no others.
        msg = f"{self!r} extracts the timestamps itself: leave out with_timestamp_assigner."
        raise ProgramError(msg)

    def isolated(self) -> Self:
        own = copy.copy(self)
        own._assigner = copy.deepcopy(self._assigner)
        own._timestamp_assigner = LegacyTimestamps(own._assigner)
        return own

    def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Any]:
        return LegacyWatermarks(self._assigner)

    def __repr__(self) -> str:
        return f"WatermarkStrategy({type(self._assigner).__qualname__})"


class TimestampsOnly(WatermarkStrategy):
    """Gives records the timestamps of another strategy, and makes no watermarks."""

    def __init__(self, origin: WatermarkStrategy) -> None:
        self._origin = origin

    @property
    def timestamp_assigner(self) -> TimestampAssigner | None:
        """Return the assigner of the other strategy."""
        return self._origin.timestamp_assigner

    @property
    def makes_watermarks(self) -> bool:
        """Tell that there are none."""
        return False

    def isolated(self) -> Self:
        """Return the same with stateful parts of its own."""
        return type(self)(self._origin.isolated())

    def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Any]:
        """Return a generator that emits nothing."""
        return NoWatermarksGenerator()

    def __repr__(self) -> str:
        return f"timestamps of {self._origin!r}"
