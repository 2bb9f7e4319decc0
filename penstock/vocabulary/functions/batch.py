"""The batch form of map and filter: a function sees all records that are there at once, instead of one after the other.

A batch is what has arrived together: up to a few thousand records under load, a single one when little comes. Results
must not depend on where the stream is cut into batches.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BATCH_FORMS", "BatchForm", "FilterBatchesFunction", "MapBatchesFunction"]

BatchForm = Literal["list", "numpy", "columns"]
"""How a function gets a batch: as a list of records, as one NumPy array, or as one NumPy array per field of tuples."""

BATCH_FORMS: tuple[str, ...] = ("list", "numpy", "columns")


class MapBatchesFunction(Function):
    """Turns each batch into as many results as it has records."""

    @abstractmethod
    def map_batches(self, values: Any) -> Sequence[Any]:
        """Return one result per record, in the same order; in the form ``columns`` also a tuple of arrays."""


class FilterBatchesFunction(Function):
    """Decides for all records of a batch which of them stay in the stream."""

    @abstractmethod
    def filter_batches(self, values: Any) -> Sequence[Any]:
        """Return one truth value per record, in the same order."""
