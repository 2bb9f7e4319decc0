"""Writes rows into branches that are prepared with a checkpoint and committed when it is complete."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.connection import LOCK_WAIT_TIMEOUT
from penstock.connectors.mysql.library import library
from penstock.connectors.mysql.sink_settings import refused
from penstock.connectors.sink_protocol import SinkWriter
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
    from penstock.connectors.mysql.xa_branch import BranchNames, XaBranch
    from penstock.connectors.mysql.xa_session import XaSession
    from penstock.connectors.sink_protocol import WriterContext

__all__ = ["XaWriter", "XaWriterState"]

_LOCK_SECONDS = 10


@dataclass(frozen=True)
class XaWriterState:
    """What a checkpoint knows of one writer: the branches that it, or a later one, commits."""

    owner: int
    branches: tuple[XaBranch, ...]


class XaWriter(SinkWriter[Any]):
    """Has at most one branch open, from the first rows that are sent after a checkpoint to the next checkpoint.

    Args:
        settings: What is written.
        context: The subtask.
        names: What its branches are called.
        session: Makes connections.
        restored: The states of all writers of the restored checkpoint.
    """

    def __init__(
        self,
        settings: MySqlSinkSettings,
        context: WriterContext,
        names: BranchNames,
        session: XaSession,
        restored: Sequence[XaWriterState] = (),
    ) -> None:
        self._settings = settings
        self._context = context
        self._names = names
        self._session = session
        self._values = settings.values()
        self._rows: list[Sequence[Any]] = []
        self._branch: XaBranch | None = None
        self._changes = 0
        self._is_scheduled = False
        self._run = uuid.uuid4().hex[:16]
        self._next = 0
        self._prepared = [branch for state in restored for branch in state.branches]
        self._session.patiently(lambda: self.take_over({state.owner for state in restored}))
        self._session.close()

    def take_over(self, former_owners: set[int]) -> None:
        """End what former runs have left in this subtask's share: connections, and branches of no checkpoint.

        Branches of the restored checkpoint stay, whether or not they could be committed by now.
        """
        context, session = self._context, self._session
        session.open()
        for owner in sorted({context.subtask, *former_owners}):
            if owner % context.parallelism == context.subtask:
                lock = self._names.lock(owner)
                session.evict(lock)
                self._lock(lock)
                session.unlock(lock)
        there = session.prepared(self._names.sink)
        for branch in there:
            if branch.owner % context.parallelism == context.subtask and branch not in self._prepared:
                session.roll_back(branch)
        self._prepared = [branch for branch in self._prepared if branch in there]

    def write(self, element: Any, timestamp: int | None) -> None:
        """Keep a row, or send it with those before it."""
        self.write_run([element], None)

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Keep rows; send them once there are enough."""
        self._rows += self._values.of(elements)
        if len(self._rows) >= self._settings.batch_size:
            self.send(must_end=False)
        elif self._settings.batch_interval and not self._is_scheduled:
            self._is_scheduled = True
            self._context.schedule(self._context.now() + self._settings.batch_interval, self._on_time)

    def flush(self, *, end_of_input: bool) -> None:
        """Send everything into the open branch."""
        self.send(must_end=True)

    def prepare_commit(self) -> list[Any]:
        """Prepare the open branch and let go of its connection, so that it can be committed from another one."""
        self.send(must_end=True)
        branch = self._branch
        if branch is None:
            return []
        self._branch = None
        self._session.end(branch)
        if self._changes == 0:
            self._session.roll_back(branch)  # a branch without changes cannot be committed
            self._session.close()
            return []
        self._session.prepare(branch)
        self._session.close()
        self._prepared.append(branch)
        return [branch]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """Return the branches that may wait for their commit."""
        return [XaWriterState(self._context.subtask, tuple(self._prepared))]

    def close(self) -> None:
        """Close the connection, with which the server drops the open branch."""
        self._session.close()

    def send(self, *, must_end: bool) -> None:
        """Send the rows into the open branch; those that others hold locks on may wait unless ``must_end``.

        The lock may well be that of the branch before, which this very thread commits when its checkpoint is complete:
        waiting for it here would be waiting for oneself.
        """
        if not self._rows:
            return
        try:
            if self._branch is None:
                self.begin()
            self._send_rows()
        except library().err.MySQLError as error:
            if self._branch is None or error.args[0] != LOCK_WAIT_TIMEOUT:
                raise refused(error, self._settings) from error
            if must_end:
                self._send_waiting()

    def begin(self) -> None:
        """Open a branch on a connection of its own."""
        self._branch = self._session.patiently(self._open)
        self._changes = 0

    def _open(self) -> XaBranch:
        session = self._session
        session.open()
        self._lock(self._names.lock(self._context.subtask))
        if self._prepared:
            there = session.prepared(self._names.sink)
            self._prepared = [known for known in self._prepared if known in there]
        session.execute("SET SESSION innodb_lock_wait_timeout = 0")
        # Each attempt has a name of its own: a server may not know yet that the connection of the last one is lost.
        branch = self._names.branch(self._run, self._next)
        self._next += 1
        session.start(branch)
        return branch

    def _lock(self, name: str) -> None:
        if not self._session.lock(name, _LOCK_SECONDS):
            message = (
                f"The lock {name!r} at {self._settings.connection.place} is held by another connection: a former run "
                "that still lives, or another job with the same transaction prefix. Jobs that run side by side need "
                "different names or transaction prefixes."
            )
            raise ExternalSystemError(message)

    def _send_rows(self) -> None:
        sent = 0
        try:
            for text, count in self._settings.statement.render(self._rows, self._session.escape):
                self._changes += self._session.execute(text)
                sent += count
        finally:
            del self._rows[:sent]

    def _send_waiting(self) -> None:
        self._session.execute(f"SET SESSION innodb_lock_wait_timeout = {_LOCK_SECONDS}")
        self._send_rows()
        self._session.execute("SET SESSION innodb_lock_wait_timeout = 0")

    def _on_time(self, time: int) -> None:
        self._is_scheduled = False
        self.send(must_end=False)
