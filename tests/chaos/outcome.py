"""What others see of the results: in directories, in a table, in a topic. And what is left behind there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.exactly_once_job import Targets, Work, expected
from tests.chaos.noted_rows import seen_rows
from tests.servers.kafka import Kafka
from tests.servers.mariadb import Database

__all__ = ["World"]


class World:
    """All places that results go to; servers that this machine cannot have are left out."""

    def __init__(self, request: pytest.FixtureRequest, place: Path) -> None:
        self.place = place
        self.missing: list[str] = []
        self.database: Database | None = self._server(request, "mariadb")
        self.kafka: Kafka | None = self._server(request, "kafka")
        self._rounds = 0

    def _server(self, request: pytest.FixtureRequest, name: str) -> Any:
        try:
            return request.getfixturevalue(name)
        except pytest.skip.Exception as reason:
            self.missing.append(f"{name}: {reason}")
            return None

    def new_work(self, **size: int) -> Work:
        """Returns work with places that are empty."""
        self._rounds += 1
        place = self.place / f"round-{self._rounds}"
        topic = None
        if self.database is not None:
            self.database.execute(
                "DROP TABLE IF EXISTS results",
                "CREATE TABLE results (id BIGINT AUTO_INCREMENT PRIMARY KEY, result VARCHAR(40))",
            )
        if self.kafka is not None:
            topic = self.kafka.topic(2)
        targets = Targets(
            files=str(place / "files"),
            moved=str(place / "moved"),
            noted=str(place / "noted.sqlite"),
            database=None if self.database is None else self.database.url,
            broker=None if self.kafka is None else self.kafka.address,
            topic=topic,
        )
        work = Work(str(place), targets=targets, **size)
        work.write_input()
        return work

    def problems(self, work: Work) -> list[str]:
        """Returns everything that is not as it must be: results missing, seen twice, and what was left behind."""
        wanted = expected(work)
        found = []
        for name, seen in self._seen(work):
            missing, surplus = wanted - seen, seen - wanted
            if missing or surplus:
                found.append(
                    f"{name}: {missing.total()} missing {sorted(missing)[:5]}, {surplus.total()} too many"
                    f" {sorted(surplus)[:5]}"
                )
        for name, place in (("files", work.targets.files), ("moved", work.targets.moved)):
            left = [path.name for path in Path(str(place)).rglob("*") if path.name.startswith(".") and path.is_file()]
            if left:
                found.append(f"{name}: left behind {left[:5]}")
        if self.database is not None and self.database.prepared():
            found.append(f"table: XA RECOVER shows {self.database.prepared()}")
        return found

    def _seen(self, work: Work) -> Iterator[tuple[str, Counter[str]]]:
        for name, place in (("files", work.targets.files), ("moved", work.targets.moved)):
            paths = [path for path in Path(str(place)).rglob("*") if path.is_file() and not path.name.startswith(".")]
            yield name, Counter(line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
        if work.targets.noted is not None:
            yield "noted rows", seen_rows(work.targets.noted)
        if self.database is not None:
            yield "table", Counter(result for (result,) in self.database.rows("SELECT result FROM results"))
        if self.kafka is not None and work.targets.topic is not None:
            # A transaction that is still open would keep this reader from the end of the topic.
            yield "topic", Counter(self.kafka.committed(work.targets.topic))
