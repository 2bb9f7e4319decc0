"""Every run that a test begins is ended with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun


@pytest.fixture(autouse=True)
def _no_files_stay_open() -> Iterator[None]:
    yield
    while FileSinkRun.begun:
        FileSinkRun.begun.pop().crash()
