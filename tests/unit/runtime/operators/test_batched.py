"""map_batches and filter_batches: one call per run of records, in the form the program asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from penstock import FilterBatchesFunction, MapBatchesFunction, ProgramError, RuntimeContext, UserFunctionError
from penstock.graph.steps import FilterBatchesStep, MapBatchesStep
from penstock.runtime.operators.batched import FilterBatchesOperator, MapBatchesOperator
from tests.unit.local_jobs import environment, results
from tests.unit.runtime.operators.operator_bench import Bench


def of(values: list[Any]) -> Any:
    return environment().from_collection(values)


class Scale(MapBatchesFunction):
    """Multiplies by what it gets when it is opened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._factor = 10 + runtime_context.get_index_of_this_subtask()

    def map_batches(self, values: Any) -> Sequence[Any]:
        return [value * self._factor for value in values]


class Odd(FilterBatchesFunction):
    """Keeps odd numbers."""

    def filter_batches(self, values: Any) -> Sequence[Any]:
        return values % 2 == 1  # type: ignore[no-any-return]


def test_a_list_of_results_takes_the_place_of_a_list_of_records() -> None:
    assert results(of([1, 2, 3]).map_batches(lambda batch: [-value for value in batch])) == [-1, -2, -3]


def test_a_function_object_is_opened() -> None:
    assert results(of([1, 2]).map_batches(Scale())) == [10, 20]


def test_numpy_form_gives_an_array_and_takes_one_back_as_plain_numbers() -> None:
    found = results(of([1.0, 4.0, 9.0]).map_batches(np.sqrt, form="numpy"))
    assert found == [1.0, 2.0, 3.0]
    assert {type(value) for value in found} == {float}


def test_numpy_form_keeps_a_tuple_one_element() -> None:
    assert results(of([(1, 2), (3, 4)]).map_batches(lambda batch: [len(batch.shape)] * 2, form="numpy")) == [1, 1]


def test_columns_form_gives_an_array_per_field() -> None:
    prices = of([("a", 2, 3.0), ("b", 5, 1.0)])
    total = prices.map_batches(lambda columns: (columns[0], columns[1] * columns[2]), form="columns")
    assert results(total) == [("a", 6.0), ("b", 5.0)]


def test_columns_form_with_one_result_column_gives_plain_values() -> None:
    assert results(of([(1, 2), (3, 4)]).map_batches(lambda columns: columns[0] + columns[1], form="columns")) == [3, 7]


def test_filter_keeps_what_is_true() -> None:
    assert results(of([1, 2, 3, 4]).filter_batches(lambda batch: [value > 2 for value in batch])) == [3, 4]


def test_filter_function_object_in_numpy_form() -> None:
    assert results(of([1, 2, 3, 4]).filter_batches(Odd(), form="numpy")) == [1, 3]


def test_a_filter_that_changes_its_list_changes_no_record() -> None:
    def drop_all(batch: list[int]) -> list[bool]:
        answers = [True] * len(batch)
        batch.clear()
        return answers

    assert results(of([1, 2]).filter_batches(drop_all)) == [1, 2]


def test_timestamps_stay_with_their_records() -> None:
    doubled = Bench(MapBatchesOperator(MapBatchesStep(function=lambda batch: [2 * value for value in batch])))
    doubled.operator.process([1, 2], [10, 20])
    assert doubled.main.flat == [(2, 10), (4, 20)]
    odd = Bench(FilterBatchesOperator(FilterBatchesStep(function=Odd(), form="numpy")))
    odd.operator.process([1, 2, 3], [10, 20, 30])
    assert odd.main.flat == [(1, 10), (3, 30)]


@pytest.mark.parametrize("call", ["map_batches", "filter_batches"])
def test_a_wrong_number_of_results_is_refused(call: str) -> None:
    with pytest.raises((ProgramError, UserFunctionError), match="returned 1 results for a batch of 3 records"):
        results(getattr(of([1, 2, 3]), call)(lambda batch: [True]))


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ProgramError, match="'pandas'"):
        of([1]).map_batches(lambda batch: batch, form="pandas")


def test_a_record_function_is_refused() -> None:
    with pytest.raises(ProgramError, match="map_batches"):
        of([1]).map_batches(7)
