"""One Spark session serves all tests: starting one costs seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import StreamExecutionEnvironment
from penstock.execution.spark.driver.session import stop_own_session


@pytest.fixture(scope="session", autouse=True)
def stop_spark() -> Iterator[None]:
    yield
    stop_own_session()


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
