"""The operators of ``map_batches`` and ``filter_batches``: one call of the program's function per run of records."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.functions import resolve_function
from penstock.runtime.interpreter_tricks.handover import protect_run
from penstock.runtime.operators.stateless import FunctionOperator
from penstock.vocabulary.functions.batch import FilterBatchesFunction, MapBatchesFunction
from penstock.vocabulary.program_checks import UnusableValueError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.graph.steps import FilterBatchesStep, MapBatchesStep
    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["FilterBatchesOperator", "MapBatchesOperator"]


def _as_array(values: Values) -> Any:
    import numpy as np

    if isinstance(values[0], (tuple, list, dict)):
        # NumPy would make a table of them, and a record would no longer be one element.
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _as_columns(values: Values) -> tuple[Any, ...]:
    return tuple(_as_array(list(column)) for column in zip(*values, strict=True))


_PREPARE: dict[str, Callable[[Values], Any] | None] = {"list": None, "numpy": _as_array, "columns": _as_columns}
"""What makes a batch of a run, per form."""


def _as_list(results: Any) -> list[Any]:
    """Return the results as a list of plain values: arrays know how, by ``tolist``."""
    to_list = getattr(results, "tolist", None)
    listed = list(results) if to_list is None else to_list()
    if not isinstance(listed, list):  # of an array without a dimension
        problem = f"The function returned {shown(results)}, but it returns one result per record."
        raise UnusableValueError(problem)
    return listed


def _as_records(results: Any) -> list[Any]:
    """Return the records that a tuple of columns stands for; a single column stands for its values."""
    if isinstance(results, tuple):
        columns = list(map(_as_list, results))
        if len(set(map(len, columns))) > 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            problem = f"The function returned columns of several lengths: {lengths}."
            raise UnusableValueError(problem)
        return list(zip(*columns, strict=True))
    return _as_list(results)


class MapBatchesOperator(FunctionOperator):
    """Puts a run of records through the function in one call."""

    _call: Callable[[Any], Sequence[Any]]

    def __init__(self, step: MapBatchesStep) -> None:
        super().__init__(step.function)
        self._prepare = _PREPARE[step.form]
        self._listed = _as_records if step.form == "columns" else _as_list

    def open(self) -> None:
        """Resolve the function."""
        super().open()
        self._call = resolve_function(self.function, MapBatchesFunction, "map_batches")

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the function's results, each with the timestamp of its record."""
        count = len(values)
        results = self._listed(self._call(values if self._prepare is None else self._prepare(values)))
        if len(results) != count:
            raise _wrong_length(self.function, "map_batches", len(results), count)
        if self.protects:
            protect_run(results)
        self.output.emit(results, timestamps)


class FilterBatchesOperator(FunctionOperator):
    """Asks the function in one call which records of a run stay."""

    _call: Callable[[Any], Sequence[Any]]

    def __init__(self, step: FilterBatchesStep) -> None:
        super().__init__(step.function)
        # A program may change the list it is given, and the records of this one are still needed.
        self._prepare = _PREPARE[step.form] or list

    def open(self) -> None:
        """Resolve the function."""
        super().open()
        self._call = resolve_function(self.function, FilterBatchesFunction, "filter_batches")

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the records that stay."""
        found = self._call(self._prepare(values))
        answers = found if type(found) is list else _as_list(found)
        if len(answers) != len(values):
            raise _wrong_length(self.function, "filter_batches", len(answers), len(values))
        kept = list(compress(values, answers))
        if self.protects:
            protect_run(kept)
        if kept:
            self.output.emit(kept, None if timestamps is None else list(compress(timestamps, answers)))


def _wrong_length(function: Any, call: str, found: int, wanted: int) -> UnusableValueError:
    problem = (
        f"The function of {call}() returned {found} results for a batch of {wanted} records; it must return one per"
        " record, in the same order."
    )
    return UnusableValueError(problem, function)
