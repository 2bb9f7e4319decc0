"""Failures happen in the session of the other tests, which must survive them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.lifecycle import Diary
from tests.spark.conftest import env, stop_spark

__all__ = ["env", "stop_spark"]


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")
