"""Joins and co-groups of two streams by key, in windows or, for joins, without any.

orders.join(goods).where(order_key).equal_to(goods_key).window(assigner).apply(function)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.api.argument_checks import check_function, key_function, location, step_name
from penstock.api.connected_streams import add_two_input_step, check_same_environment
from penstock.api.window_settings import WindowSettings
from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import CoGroupStep, JoinKind, JoinStep, tagged_key
from penstock.vocabulary.functions.basic import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.api.keyed_stream import KeyedStream
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["CoGroupedStreams", "JoinedStreams"]

T1 = TypeVar("T1")
T2 = TypeVar("T2")

_KIND_NAMES = {
    JoinKind.INNER: "Join",
    JoinKind.LEFT: "Left Outer Join",
    JoinKind.RIGHT: "Right Outer Join",
    JoinKind.FULL: "Full Outer Join",
}


class _KeyedPair:
    """Two streams and, step by step, their keys."""

    def __init__(self, first: DataStream[Any], second: DataStream[Any], kind: JoinKind | None) -> None:
        check_same_environment("co_group" if kind is None else "join", first, second)
        self.first = first
        self.second = second
        self.kind = kind
        self.first_key: Any = None
        self.second_key: Any = None

    def keyed(self) -> tuple[KeyedStream[Any, Any], KeyedStream[Any, Any]]:
        """Return both streams divided by their keys."""
        return self.first.key_by(self.first_key), self.second.key_by(self.second_key)


class _Windowed(WindowSettings):
    """What windows of joins and of co-groups have in common."""

    def __init__(self, pair: _KeyedPair, assigner: Any) -> None:
        super().__init__(assigner)
        self._pair = pair

    def _result(self, name: str, function: Any, output_type: Any) -> DataStream[Any]:
        first, second = self._pair.keyed()
        step = CoGroupStep(
            key=tagged_key(first._key(), second._key()),
            input_keys=(first._key(), second._key()),
            **self._window_settings(first.get_execution_environment()),
            function=function,
            kind=self._pair.kind,
        )
        return add_two_input_step(first, second, f"{type(self._assigner).__name__} {name}", step, output_type)


class JoinedStreams(Generic[T1, T2]):
    """Two streams to be joined; ``where`` and ``equal_to`` name their keys."""

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2], join_kind: JoinKind = JoinKind.INNER) -> None:
        self._pair = _KeyedPair(stream1, stream2, join_kind)

    def where(self, key_selector: Any, key_type: Any = None) -> JoinedStreams.Where:
        """Set the key of the first stream."""
        self._pair.first_key = key_function(key_selector)
        return JoinedStreams.Where(self._pair)

    class Where:
        """A join whose first key is known."""

        def __init__(self, pair: _KeyedPair) -> None:
            self._pair = pair

        def equal_to(self, key_selector: Any) -> JoinedStreams.EqualTo:
            """Set the key of the second stream."""
            self._pair.second_key = key_function(key_selector)
            return JoinedStreams.EqualTo(self._pair)

    class EqualTo:
        """A join whose keys are known."""

        def __init__(self, pair: _KeyedPair) -> None:
            self._pair = pair

        def window(self, window_assigner: Any) -> JoinedStreams.WithWindow:
            """Join the records that fall into the same window."""
            return JoinedStreams.WithWindow(self._pair, window_assigner)

        def without_window(self, state_ttl: TimeLength | None = None) -> JoinedStreams.WithoutWindow:
            """Join each record with all that the other side has sent so far, or sends within the time to live."""
            return JoinedStreams.WithoutWindow(self._pair, state_ttl)

    class WithWindow(_Windowed):
        """A join in windows: every record of one side with every record of the other side of the same window."""

        def apply(self, function: Any, output_type: Any = None) -> DataStream[Any]:
            """Put each pair through a ``JoinFunction``, a ``FlatJoinFunction`` or a callable of two records.

            Results have the last timestamp of the window. The missing record of an outer join is ``None``.
            """
            check_function(function, (JoinFunction, FlatJoinFunction), "apply")
            assert self._pair.kind is not None
            return self._result(step_name(_KIND_NAMES[self._pair.kind], function), function, output_type)

    class WithoutWindow:
        """A join driven by arrival, which keeps both sides in state."""

        def __init__(self, pair: _KeyedPair, state_ttl: TimeLength | None) -> None:
            self._pair = pair
            self._state_ttl = None if state_ttl is None else to_millis(state_ttl)
            self._has_row_kinds = False
            if self._state_ttl is not None and self._state_ttl <= 0:
                message = f"The time to live of a join must be at least one millisecond, not {state_ttl!r}."
                raise ProgramError(message, location())

        def with_row_kinds(self) -> Self:
            """Let results come as ``(RowKind, result)``: an outer join takes back what a late partner makes wrong."""
            self._has_row_kinds = True
            return self

        def apply(self, function: Any, output_type: Any = None) -> DataStream[Any]:
            """Put each pair through a ``JoinFunction``, a ``FlatJoinFunction`` or a callable of two records.

            Results have the timestamp of the record that came last. The missing record of an outer join is ``None``.
            """
            check_function(function, (JoinFunction, FlatJoinFunction), "apply")
            first, second = self._pair.keyed()
            kind = self._pair.kind
            assert kind is not None
            step = JoinStep(
                key=first._key(),
                second_key=second._key(),
                function=function,
                kind=kind,
                state_ttl=self._state_ttl,
                has_row_kinds=self._has_row_kinds,
            )
            return add_two_input_step(first, second, step_name(_KIND_NAMES[kind], function), step, output_type)


class CoGroupedStreams(Generic[T1, T2]):
    """Two streams to be grouped together; ``where`` and ``equal_to`` name their keys."""

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        self._pair = _KeyedPair(stream1, stream2, None)

    def where(self, key_selector: Any, key_type: Any = None) -> CoGroupedStreams.Where:
        """Set the key of the first stream."""
        self._pair.first_key = key_function(key_selector)
        return CoGroupedStreams.Where(self._pair)

    class Where:
        """A co-group whose first key is known."""

        def __init__(self, pair: _KeyedPair) -> None:
            self._pair = pair

        def equal_to(self, key_selector: Any) -> CoGroupedStreams.EqualTo:
            """Set the key of the second stream."""
            self._pair.second_key = key_function(key_selector)
            return CoGroupedStreams.EqualTo(self._pair)

    class EqualTo:
        """A co-group whose keys are known."""

        def __init__(self, pair: _KeyedPair) -> None:
            self._pair = pair

        def window(self, window_assigner: Any) -> CoGroupedStreams.WithWindow:
            """Group the records that fall into the same window."""
            return CoGroupedStreams.WithWindow(self._pair, window_assigner)

    class WithWindow(_Windowed):
        """A co-group in windows."""

        def apply(self, function: Any, output_type: Any = None) -> DataStream[Any]:
            """Put both groups of a window through a ``CoGroupFunction`` or a callable of two lists.

            It yields results, which have the last timestamp of the window; a group may be empty.
            """
            check_function(function, CoGroupFunction, "apply")
            return self._result(step_name("Co-Group", function), function, output_type)
