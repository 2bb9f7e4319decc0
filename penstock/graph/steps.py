"""What a step does, one frozen class per kind: the program's own objects, nothing that runs.

The runtime turns each kind into an operator (``penstock.runtime.task.build``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from penstock.vocabulary.functions.batch import BatchForm
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.time.strategy import WatermarkStrategy

__all__ = [
    "AsyncWaitStep",
    "CollectStep",
    "FilterBatchesStep",
    "FilterStep",
    "FlatMapStep",
    "GlobalCommitStep",
    "KeySelectorFunction",
    "MapBatchesStep",
    "MapStep",
    "PrintStep",
    "ProcessStep",
    "ReduceStep",
    "RollingStep",
    "SinkFunctionStep",
    "SinkStep",
    "SourceFunctionStep",
    "SourceStep",
    "StatefulStep",
    "Step",
    "TimestampStep",
    "WindowStep",
]

KeySelectorFunction = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    """What all kinds have in common."""

    key: KeySelectorFunction | None = None
    """How the key of a record is found, where the input is keyed."""

    @property
    def has_keyed_state(self) -> bool:
        """Tell whether there is a key that state can belong to."""
        return self.key is not None

    @property
    def shares_own_state(self) -> bool:
        """Tell whether a restored operator gets what all its subtasks kept for themselves."""
        return False

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the program's functions in this step, for messages and checks."""
        function = getattr(self, "function", None)
        return () if function is None else (function,)


@dataclass(frozen=True, kw_only=True)
class SourceStep(Step):
    """Reads the splits of a source."""

    source: Any
    strategy: WatermarkStrategy | None = None

    @property
    def is_bounded(self) -> bool:
        """Tell whether the source ends by itself."""
        return bool(self.source.boundedness.name == "BOUNDED")


@dataclass(frozen=True, kw_only=True)
class SourceFunctionStep(Step):
    """Runs a ``SourceFunction``."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class MapStep(Step):
    """One result per record."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class FlatMapStep(Step):
    """Any number of results per record."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class FilterStep(Step):
    """Keeps the records for which the function is true."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class ReduceStep(Step):
    """Combines each record with what its key had so far and emits the result."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class RollingStep(Step):
    """``sum``, ``min``, ``max``, ``min_by`` or ``max_by`` of one field per key."""

    kind: Literal["sum", "min", "max", "min_by", "max_by"]
    position: int | str
    location: str = ""
    """``file:line`` of the program."""


@dataclass(frozen=True, kw_only=True)
class StatefulStep(Step):
    """``map_with_state`` and its siblings: ``(record, state or None) -> (result, new state or None)``."""

    kind: Literal["map", "flat_map", "filter"]
    function: Any


@dataclass(frozen=True, kw_only=True)
class ProcessStep(Step):
    """A process function of one input, keyed or not."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class TimestampStep(Step):
    """Gives records timestamps and makes watermarks."""

    strategy: WatermarkStrategy


@dataclass(frozen=True, kw_only=True)
class WindowStep(Step):
    """Groups records of a key into windows and evaluates them.

    ``reducer`` (a reduce or aggregate function) keeps one accumulator per window; without it the elements are kept.
    ``function`` sees the window when it fires; without it the accumulator's result is the output.
    """

    assigner: Any
    trigger: Any = None
    evictor: Any = None
    allowed_lateness: int = 0
    late_tag: OutputTag[Any] | None = None
    reducer: Any = None
    function: Any = None
    is_keyed: bool = True

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the reducer and the window function."""
        return tuple(part for part in (self.reducer, self.function) if part is not None)


@dataclass(frozen=True, kw_only=True)
class SinkFunctionStep(Step):
    """Hands records to a ``SinkFunction``."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class SinkStep(Step):
    """Hands records to the writers of a ``Sink`` and commits what they prepare."""

    sink: Any
    emits_committables: bool = False
    """Whether what the writers prepare goes on to a step that commits it for all of them."""

    @property
    def shares_own_state(self) -> bool:
        """Tell whether the sink wants the states of all its writers."""
        return bool(self.sink.shares_writer_state)

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the program's function, where the sink is made of one."""
        function = getattr(self.sink, "function", None)
        return () if function is None else (function,)


@dataclass(frozen=True, kw_only=True)
class GlobalCommitStep(Step):
    """Commits, in one place, what all writers of a sink have prepared."""

    sink: Any


@dataclass(frozen=True, kw_only=True)
class PrintStep(Step):
    """Prints records on the driver's standard output."""

    identifier: str = ""


@dataclass(frozen=True, kw_only=True)
class CollectStep(Step):
    """Sends records to the program that called ``execute_and_collect``."""

    collection: str = ""


@dataclass(frozen=True, kw_only=True)
class AsyncWaitStep(Step):
    """Answers each record with a coroutine, many of which run at the same time."""

    function: Any
    timeout: int
    """Milliseconds for all attempts of a record; 0: for ever."""
    capacity: int
    """How many records may be without an answer."""
    retry_strategy: Any
    is_ordered: bool


@dataclass(frozen=True, kw_only=True)
class MapBatchesStep(Step):
    """As many results per batch as it has records."""

    function: Any
    form: BatchForm = "list"


@dataclass(frozen=True, kw_only=True)
class FilterBatchesStep(Step):
    """Keeps the records of a batch for which the function's answer is true."""

    function: Any
    form: BatchForm = "list"
