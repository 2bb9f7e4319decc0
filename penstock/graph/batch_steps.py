"""The steps whose functions take batches of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.steps import Step

if TYPE_CHECKING:
    from penstock.vocabulary.functions.batch import BatchForm

__all__ = ["FilterBatchesStep", "MapBatchesStep"]


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
