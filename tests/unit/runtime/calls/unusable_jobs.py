"""Small jobs around a function of the program that hands over what nobody can use, and what is said of it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import (
    Time,
    TumblingEventTimeWindows,
    UserFunctionError,
    WatermarkStrategy,
)
from tests.unit.local_jobs import run_locally

ENGINE = str(Path(penstock.__file__).parent)


def pairs(env: Any) -> Any:
    """Two records of one key, with their times."""
    return env.from_collection([("a", 1), ("a", 2)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
    )


def keyed(env: Any) -> Any:
    return pairs(env).key_by(lambda record: record[0])


def windowed(env: Any) -> Any:
    return keyed(env).window(TumblingEventTimeWindows.of(Time.seconds(1)))


def explained(stream: Any) -> UserFunctionError:
    stream.print()
    env = stream.get_execution_environment()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    return caught.value


def check(error: UserFunctionError, step: str, function: Any, *said: str) -> None:
    """Look for the step, for the function with a line of its own, and for what is said; for no line of Penstock."""
    message = str(error)
    assert step in error.step
    target = function if inspect.isroutine(function) else type(function)
    assert f"({inspect.getsourcefile(target)}:" in error.function, error.function
    lines, first = inspect.getsourcelines(target)
    line = int(error.function.rpartition(":")[2].rstrip(")"))
    assert first <= line < first + len(lines), f"{error.function} is not in lines {first} to {first + len(lines) - 1}"
    for each in said:
        assert each in message
    assert ENGINE not in message, message
    assert "penstock.vocabulary" not in message
