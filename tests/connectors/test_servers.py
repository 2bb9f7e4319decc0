"""The servers of the tests come back with their data, on the same port, and nothing of them outlives the tests."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pymysql
import pytest

from tests.servers.mariadb import Database
from tests.servers.redis import RedisServer


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_a_database_comes_back_with_its_rows(mariadb: Database, way: str) -> None:
    mariadb.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    getattr(mariadb.server, way)()
    with pytest.raises(pymysql.OperationalError):
        mariadb.rows("SELECT 1")
    mariadb.server.start()
    assert mariadb.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_a_prepared_branch_survives_a_killed_server(mariadb: Database) -> None:
    mariadb.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "XA START 'branch'",
        "INSERT INTO t VALUES (1)",
        "XA END 'branch'",
        "XA PREPARE 'branch'",
    )
    mariadb.server.kill()
    mariadb.server.start()
    assert mariadb.prepared() == ["branch"]
    mariadb.execute("XA COMMIT 'branch'")
    assert mariadb.rows("SELECT id FROM t") == [(1,)]


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_a_store_comes_back_with_its_keys(redis_store: RedisServer, way: str) -> None:
    with redis_store.connect() as client:
        client.set("a", "1")
    getattr(redis_store, way)()
    redis_store.start()
    with redis_store.connect() as client:
        assert client.get("a") == "1"


GONE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from tests.servers.debian import installed
from tests.servers.redis import RedisServer
server = RedisServer(installed("redis-server", "redis-server"))
server.start()
print(server.pid, server.directory, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_ends_with_the_tests_that_are_killed(redis_store: RedisServer) -> None:
    repository = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", GONE, repository], capture_output=True, text=True, check=False, timeout=60
    )
    pid, directory = done.stdout.split()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/exe").exists() or Path(directory).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
