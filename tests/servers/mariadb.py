"""A MariaDB server, and databases in it that are empty when a test begins."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tests.servers.debian import Installed, serve
from tests.servers.server import Server

__all__ = ["Database", "MariaDbServer", "mariadb", "mariadb_server"]

USER = "penstock"
PASSWORD = "let me in"
HOST = "127.0.0.1"


class MariaDbServer(Server):
    """MariaDB with InnoDB, quick rather than safe from power failures; ``kill -9`` of it loses nothing."""

    name = "mariadb"

    def __init__(self, program: Installed) -> None:
        super().__init__()
        self.program = program
        self.data = self.directory / "data"
        usr = program.program.parents[1]
        share = next(path for path in (usr / "share/mysql", usr / "share/mariadb") if path.exists())
        self._places = [
            "--no-defaults",
            f"--basedir={usr}",
            f"--lc-messages-dir={share}",
            f"--datadir={self.data}",
            f"--tmpdir={self.directory}",  # a server that starts removes the temporary tables of others there
            *(["--user=root"] if os.geteuid() == 0 else []),
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=32M",
            "--innodb-use-native-aio=OFF",
        ]
        self._make_system_tables(share)

    def _make_system_tables(self, share: Path) -> None:
        self.data.mkdir()
        parts = [(share / f"{name}.sql").read_text() for name in ("mysql_system_tables", "mysql_system_tables_data")]
        done = subprocess.run(
            [str(self.program.program), *self._places, "--bootstrap", "--skip-networking"],
            input="\n".join(["create database mysql;", "use mysql;", *parts]).encode(),
            env=self.environment(),
            check=False,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
        account = f"'{USER}'@'%'"
        (self.directory / "account.sql").write_text(
            f"CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO {account};\n"
        )

    def command(self) -> list[str]:
        return [
            str(self.program.program),
            *self._places,
            f"--port={self.port}",
            f"--bind-address={HOST}",
            f"--socket={self.directory / 'socket'}",
            f"--pid-file={self.directory / 'pid'}",
            f"--init-file={self.directory / 'account.sql'}",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--performance-schema=OFF",
            "--innodb-flush-log-at-trx-commit=2",
            "--character-set-server=utf8mb4",
        ]

    def environment(self) -> dict[str, str]:
        return self.program.environment()

    def answers(self) -> bool:
        try:
            self.connect().close()
        except pymysql.MySQLError:
            return False
        return True

    def connect(self, database: str | None = None, *, autocommit: bool = True) -> Any:
        """Return a connection of the test's own."""
        return pymysql.connect(
            host=HOST,
            port=self.port,
            user=USER,
            password=PASSWORD,
            database=database,
            autocommit=autocommit,
            connect_timeout=10,
            ssl_disabled=True,
        )

    def url(self, database: str = "") -> str:
        """Return the address that a program connects to."""
        return f"mysql://{USER}:{PASSWORD.replace(' ', '%20')}@{HOST}:{self.port}/{database}"

    def settings(self) -> dict[str, str]:
        with closing(self.connect()) as connection:
            connection.cursor().execute("CREATE DATABASE IF NOT EXISTS shop")
        return {"SHOP_DATABASE": self.url("shop")}


class Database:
    """A database of one test."""

    def __init__(self, server: MariaDbServer, name: str) -> None:
        self.server = server
        self.name = name

    @property
    def url(self) -> str:
        return self.server.url(self.name)

    def execute(self, *statements: str) -> None:
        """Run statements, each committed at once."""
        with closing(self.server.connect(self.name)) as connection:
            for statement in statements:
                connection.cursor().execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what everybody sees now."""
        with closing(self.server.connect(self.name)) as connection:
            cursor = connection.cursor()
            cursor.execute(query)
            return list(cursor.fetchall())

    def prepared(self) -> list[str]:
        """Return the ids of all prepared XA branches of the server."""
        return [row[3].decode() for row in self.rows("XA RECOVER")]

    def roll_back_prepared(self) -> None:
        """Drop all prepared XA branches of the server."""
        for number, split, _, name in self.rows("XA RECOVER"):
            self.execute(f"XA ROLLBACK X'{name[:split].hex()}', X'{name[split:].hex()}', {number}")

    def disconnect_all(self) -> None:
        """End all other connections to the server, as a failing network does."""
        with closing(self.server.connect()) as connection:
            cursor = connection.cursor()
            others = "SELECT id FROM information_schema.processlist WHERE user = %s AND id <> connection_id()"
            cursor.execute(others, (USER,))
            for (number,) in cursor.fetchall():
                with contextlib.suppress(pymysql.MySQLError):  # it may have ended by itself
                    cursor.execute(f"KILL {number}")


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """The one MariaDB server of the run."""
    yield from serve(MariaDbServer, "mariadb-server-core", "mariadbd")


@pytest.fixture
def mariadb(mariadb_server: MariaDbServer) -> Iterator[Database]:
    """An empty database; nothing of it, and no transaction, is left afterwards."""
    mariadb_server.start()
    database = Database(mariadb_server, f"test_{next(_numbers)}")
    with closing(mariadb_server.connect()) as connection:
        connection.cursor().execute(f"CREATE DATABASE {database.name}")
    yield database
    mariadb_server.start()
    database.disconnect_all()
    database.roll_back_prepared()
    database.execute(f"DROP DATABASE {database.name}")
