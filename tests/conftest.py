"""Marks tests by the directory they are in, and sets up what all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.kafka import kafka, kafka_server
from tests.servers.mariadb import mariadb, mariadb_server
from tests.servers.redis import redis_server, redis_store

__all__ = ["kafka", "kafka_server", "mariadb", "mariadb_server", "redis_server", "redis_store"]

# How long an example takes depends on who else uses the machine, so time decides nothing.
settings.register_profile("penstock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("penstock")

_TESTS = Path(__file__).parent
_MARKERS = {"spark": ("spark",), "chaos": ("spark", "chaos")}


@pytest.fixture(scope="session", autouse=True)
def own_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the jobs of tests out of the registry of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        directory = item.path.relative_to(_TESTS).parts[0] if item.path.is_relative_to(_TESTS) else ""
        for marker in _MARKERS.get(directory, ()):
            item.add_marker(marker)
