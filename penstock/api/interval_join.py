"""Joins of two keyed streams by the distance of their timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.connected_streams import add_two_input_step, check_same_environment
from penstock.api.keyed_stream import KeyedStream
from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import IntervalJoinStep, JoinKind
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import ProcessJoinFunction
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["IntervalJoin", "IntervalJoined"]

T1 = TypeVar("T1")
T2 = TypeVar("T2")
K = TypeVar("K")


class IntervalJoin(Generic[T1, T2, K]):
    """Two keyed streams whose records are to be paired; ``between`` says which distance they may have."""

    def __init__(self, stream_one: KeyedStream[K, T1], stream_two: KeyedStream[K, T2]) -> None:
        check_same_environment("interval_join", stream_one, stream_two)
        for stream in (stream_one, stream_two):
            if not isinstance(stream, KeyedStream):
                message = "interval_join() needs two keyed streams: call key_by() on both before it."
                raise ProgramError(message, location())
        self._left = stream_one
        self._right = stream_two

    def between(self, lower_bound: TimeLength, upper_bound: TimeLength) -> IntervalJoined[T1, T2, K]:
        """Pair a left record at ``t`` with the right records from ``t + lower_bound`` to ``t + upper_bound``.

        Both bounds belong to the interval and may be negative.
        """
        return IntervalJoined(self._left, self._right, to_millis(lower_bound), to_millis(upper_bound))


class IntervalJoined(Generic[T1, T2, K]):
    """An interval join whose bounds are known; ``process`` completes it."""

    def __init__(self, left: KeyedStream[K, T1], right: KeyedStream[K, T2], lower: int, upper: int) -> None:
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._is_lower_exclusive = False
        self._is_upper_exclusive = False
        self._kind = JoinKind.INNER
        self._left_late_tag: OutputTag[Any] | None = None
        self._right_late_tag: OutputTag[Any] | None = None

    def lower_bound_exclusive(self) -> Self:
        """Take the lower bound itself out of the interval."""
        self._is_lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> Self:
        """Take the upper bound itself out of the interval."""
        self._is_upper_exclusive = True
        return self

    def left_outer(self) -> Self:
        """Let a left record without partner out, with ``None`` as the right one, when its interval has passed."""
        return self._outer(JoinKind.LEFT)

    def right_outer(self) -> Self:
        """Let a right record without partner out, with ``None`` as the left one, when its interval has passed."""
        return self._outer(JoinKind.RIGHT)

    def full_outer(self) -> Self:
        """Let every record without partner out when its interval has passed."""
        return self._outer(JoinKind.FULL)

    def side_output_left_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send left records that are behind the watermark to a side output instead of dropping them."""
        check_function(output_tag, OutputTag, "side_output_left_late_data", allow_callable=False)
        self._left_late_tag = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send right records that are behind the watermark to a side output instead of dropping them."""
        check_function(output_tag, OutputTag, "side_output_right_late_data", allow_callable=False)
        self._right_late_tag = output_tag
        return self

    def process(self, process_join_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Put each pair through a ``ProcessJoinFunction``; its results have the later timestamp of the pair."""
        check_function(process_join_function, ProcessJoinFunction, "process", allow_callable=False)
        lower = self._lower + self._is_lower_exclusive
        upper = self._upper - self._is_upper_exclusive
        if lower > upper:
            message = (
                f"The interval from {lower} to {upper} ms is empty: the lower bound must not exceed the upper one."
            )
            raise ProgramError(message, location())
        step = IntervalJoinStep(
            function=process_join_function,
            key=self._left._key(),
            second_key=self._right._key(),
            lower=lower,
            upper=upper,
            kind=self._kind,
            left_late_tag=self._left_late_tag,
            right_late_tag=self._right_late_tag,
        )
        name = step_name("Interval Join", process_join_function)
        return add_two_input_step(self._left, self._right, name, step, output_type)

    def _outer(self, kind: JoinKind) -> Self:
        self._kind = kind
        return self
