"""A write-ahead sink over SQLite: records and the note that they are there go into one transaction.

Workers import this module by its name.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from penstock import CheckpointCommitter, GenericWriteAheadSink

__all__ = ["NotedRows", "seen_rows"]

_NEWEST = "SELECT MAX(checkpoint) FROM notes WHERE run = ? AND operator = ? AND subtask = ?"


class _Notes(CheckpointCommitter):
    """Notes each batch; the transaction begins when it is looked up and ends when it is noted."""

    def __init__(self, file: str) -> None:
        self._file = file

    def open(self) -> None:
        Path(self._file).parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self._file, timeout=60, isolation_level=None)
        self.connection.execute("PRAGMA synchronous = OFF")  # processes die here, not machines
        self.connection.execute("CREATE TABLE IF NOT EXISTS results (result TEXT)")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS notes (run TEXT, operator TEXT, subtask INTEGER, checkpoint INTEGER)"
        )

    def close(self) -> None:
        self.connection.close()

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        if self.connection.in_transaction:  # an error has left it
            self.connection.execute("ROLLBACK")
        # Not a plain BEGIN: a process of the attempt before may be at the same batch.
        self.connection.execute("BEGIN IMMEDIATE")
        (newest,) = self.connection.execute(_NEWEST, (self.job_id, self.operator_id, subtask)).fetchone()
        is_committed = newest is not None and newest >= checkpoint_id
        if is_committed:
            self.connection.execute("ROLLBACK")
        return is_committed

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        note = (self.job_id, self.operator_id, subtask, checkpoint_id)
        self.connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", note)
        self.connection.execute("COMMIT")


class NotedRows(GenericWriteAheadSink[str]):
    """Writes each record as a row."""

    def __init__(self, file: str) -> None:
        super().__init__(_Notes(file))

    def send_values(self, values: Sequence[str], checkpoint_id: int, timestamp: int) -> bool:
        assert isinstance(self.committer, _Notes)
        self.committer.connection.executemany("INSERT INTO results VALUES (?)", [(value,) for value in values])
        return True


def seen_rows(file: str) -> Counter[str]:
    """Counts the rows by their content."""
    with closing(sqlite3.connect(file, timeout=60)) as connection:
        return Counter(result for (result,) in connection.execute("SELECT result FROM results"))
