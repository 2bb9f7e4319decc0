"""Writes rows into branches that are prepared with a checkpoint and committed when it is complete."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.batching_writer import BatchingWriter
from penstock.connectors.mysql.connection import LOCK_WAIT_TIMEOUT, import_pymysql
from penstock.connectors.mysql.sink_settings import refused
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
    from penstock.connectors.mysql.xa_branch import BranchNames, XaBranch
    from penstock.connectors.mysql.xa_session import XaSession
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["XaWriter", "XaWriterState"]

_LOCK_SECONDS = 10
_LONGEST_IDLE_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True)
class XaWriterState:
    """What a checkpoint knows of one writer: the branches that it, or a later one, commits."""

    owner: int
    branches: tuple[XaBranch, ...]


class XaWriter(BatchingWriter):
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
        super().__init__(context, settings.batch_size, settings.batch_interval)
        self._settings = settings
        self._names = names
        self._session = session
        self._values = settings.values()
        self._branch: XaBranch | None = None
        self._changes = 0
        self._run = uuid.uuid4().hex[:16]
        self._next = 0
        self._branches = [branch for state in restored for branch in state.branches]
        self._session.retry(lambda: self.take_over({state.owner for state in restored}))
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
            if branch.owner % context.parallelism == context.subtask and branch not in self._branches:
                session.roll_back(branch)
        self._branches = [branch for branch in self._branches if branch in there]

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
        self._branches.append(branch)
        return [branch]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """Return the branches that may wait for their commit."""
        return [XaWriterState(self._context.subtask, tuple(self._branches))]

    def close(self) -> None:
        """Close the connection, with which the server drops the open branch."""
        self._session.close()

    def send(self, *, must_end: bool) -> None:
        """Send the rows into the open branch; those that others hold locks on may wait unless ``must_end``.

        The lock may well be that of the branch before, which this very thread commits when its checkpoint is complete:
        waiting for it here would be waiting for oneself.
        """
        if not self._items:
            return
        try:
            if self._branch is None:
                self.begin()
            self._send_rows()
        except import_pymysql().err.MySQLError as error:
            if self._branch is None or error.args[0] != LOCK_WAIT_TIMEOUT:
                raise refused(error, self._settings) from error
            if must_end:
                self._send_waiting()

    def begin(self) -> None:
        """Open a branch on a connection of its own."""
        self._branch = self._session.retry(self._open)
        self._changes = 0

    def _open(self) -> XaBranch:
        session = self._session
        session.open()
        self._lock(self._names.lock(self._context.subtask))
        if self._branches:
            there = session.prepared(self._names.sink)
            self._branches = [known for known in self._branches if known in there]
        # An open branch may be idle until the next checkpoint, however far that is.
        session.execute(f"SET SESSION innodb_lock_wait_timeout = 0, wait_timeout = {_LONGEST_IDLE_SECONDS}")
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

    def _prepared(self, elements: list[Any]) -> list[Any]:
        return self._values.of(elements)

    def _send_rows(self) -> None:
        sent = 0
        try:
            for text, count in self._settings.statement.render(self._items, self._session.escape):
                self._changes += self._session.execute(text)
                sent += count
        finally:
            del self._items[:sent]

    def _send_waiting(self) -> None:
        self._session.execute(f"SET SESSION innodb_lock_wait_timeout = {_LOCK_SECONDS}")
        self._send_rows()
        self._session.execute("SET SESSION innodb_lock_wait_timeout = 0")
