"""Failures say their context explicitly: it is noted on the error by those whom it passes; nothing is run again."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from penstock import UserFunctionError, WatermarkStrategy
from penstock.foundation.failure_context import (
    NO_RECORD,
    note_function,
    note_operator,
    note_record,
    note_writer,
    noting,
    take,
)
from penstock.foundation.native import native
from tests.architecture.source_tree import source_files
from tests.unit.local_jobs import environment, run_locally


def test_what_is_noted_first_stays() -> None:
    error = ValueError()
    note_record(error, 1)
    note_record(error, 2)
    note_function(error, len)
    note_function(error, max)
    note_operator(error, "inner")
    note_operator(error, "outer")
    noted = take(error)
    assert (noted.record, noted.function, noted.operator) == (1, len, "inner")


def test_records_of_operators_before_the_one_that_failed_do_not_count() -> None:
    error = ValueError()
    note_operator(error, "inner")
    note_record(error, 1)
    note_writer(error, "writer")
    note_operator(error, "outer")
    noted = take(error)
    assert noted.record is NO_RECORD
    assert (noted.writer, noted.operator) == (None, "inner")


def test_notes_are_taken_off_so_that_an_error_can_be_raised_again_and_pickled() -> None:
    error = ValueError()
    note_record(error, object())
    take(error)
    assert vars(error) == {}
    assert take(error).record is NO_RECORD


def test_a_callback_notes_whose_it_is() -> None:
    def fail(_: int) -> None:
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - it is the error itself that is looked at
        noting("operator", fail)(1)
    assert take(caught.value).operator == "operator"


class Counted:
    """A record whose parts cannot be taken, and which counts how often that was tried."""

    tries = 0

    def __getitem__(self, position: int) -> Any:
        Counted.tries += 1
        raise LookupError("no parts")


def first(record: Any) -> Any:
    return record[0]


_is_built_anew = pytest.mark.skipif(
    native is not None and "called once" not in native.KeyFunction.__doc__,
    reason="the accelerator that is installed was built from older sources",
)


@_is_built_anew
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_key_selector_is_not_run_again_after_a_failure(parallelism: int) -> None:
    Counted.tries = 0
    env = environment(parallelism)
    env.from_collection([0]).map(lambda _: Counted()).key_by(first).reduce(lambda a, b: a).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert Counted.tries == 1
    error = caught.value
    assert error.error == "LookupError: no parts"
    assert error.function == f"first ({__file__}:{first.__code__.co_firstlineno})"
    assert "in __getitem__" in error.user_traceback
    assert error.record is not None
    assert "Counted object" in error.record


@_is_built_anew
@pytest.mark.parametrize("parallelism", [1, 2])
def test_the_line_of_a_key_selector_is_shown_though_its_part_was_taken_without_calling_it(parallelism: int) -> None:
    env = environment(parallelism)
    env.from_collection([("a",), ()]).key_by(first).reduce(lambda a, b: a).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    line = first.__code__.co_firstlineno
    assert caught.value.function == f"first ({__file__}:{line})"
    assert caught.value.record == "()"
    assert caught.value.user_traceback == (
        "Traceback (most recent call last):\n"
        f'  File "{__file__}", line {line + 1}, in first\n'
        "    return record[0]\n"
        "IndexError: tuple index out of range\n"
    )


def test_a_timestamp_assigner_is_not_run_again_after_a_failure() -> None:
    Counted.tries = 0
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[0])
    env = environment()
    stream = env.from_collection([0]).map(lambda _: Counted())
    stream.assign_timestamps_and_watermarks(strategy).name("timing").print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert Counted.tries == 1
    assert caught.value.step == "timing (1/1)"
    assert caught.value.error == "LookupError: no parts"
    assert f'File "{__file__}"' in caught.value.user_traceback


def test_nobody_reads_local_variables_out_of_frames() -> None:
    found = [
        f"{file.place}:{node.lineno}"
        for file in source_files()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Attribute) and node.attr == "f_locals"
    ]
    assert found == []
