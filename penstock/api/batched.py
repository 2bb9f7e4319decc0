"""Steps whose functions take batches of records: for NumPy, for models, for anything that is cheaper in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.api.program import check_function, location, step_name
from penstock.errors import ProgramError
from penstock.graph.steps import FilterBatchesStep, MapBatchesStep
from penstock.vocabulary.functions.batch import (
    BATCH_FORMS,
    BatchForm,
    FilterBatchesFunction,
    MapBatchesFunction,
)

if TYPE_CHECKING:
    from penstock.api.data_stream import DataStream
    from penstock.graph.steps import Step

__all__ = ["Batched"]


class Batched(ABC):
    """Maps and filters batch by batch. The methods are those of a ``DataStream``."""

    def map_batches(self, func: Any, output_type: Any = None, *, form: BatchForm = "list") -> DataStream[Any]:
        """Turn records into results, all that are there in one call; one result per record, in the same order."""
        check_function(func, MapBatchesFunction, "map_batches")
        _check_form(form, "map_batches")
        return self._then(step_name("Map Batches", func), MapBatchesStep(function=func, form=form), output_type)

    def filter_batches(self, func: Any, *, form: BatchForm = "list") -> DataStream[Any]:
        """Keep the records for which the function, asked for all that are there in one call, answers true."""
        check_function(func, FilterBatchesFunction, "filter_batches")
        _check_form(form, "filter_batches")
        return self._then(step_name("Filter Batches", func), FilterBatchesStep(function=func, form=form))

    @abstractmethod
    def _then(self, name: str, step: Step, output_type: Any = None, **settings: Any) -> DataStream[Any]:
        """Add a step behind this stream."""


def _check_form(form: str, call: str) -> None:
    if form not in BATCH_FORMS:
        message = f"{call}() has the forms {', '.join(map(repr, BATCH_FORMS))}, not {form!r}."
        raise ProgramError(message, location())
