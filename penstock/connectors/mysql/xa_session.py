"""The statements of distributed transactions, each a method, so that tests can let each of them fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.connection import MySqlConnection, import_pymysql
from penstock.connectors.mysql.xa_branch import XaBranch

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["XaSession"]

_UNKNOWN_BRANCH = 1397
_UNKNOWN_THREAD = 1094


class XaSession(MySqlConnection):
    """A connection that opens, prepares and ends branches.

    MariaDB keeps a prepared branch to its connection until that ends; then any other one may commit it. So a branch
    gets a connection of its own.
    """

    def start(self, branch: XaBranch) -> None:
        """Begin a branch: what is written from now on belongs to it."""
        self.execute(f"XA START {branch.literal}")

    def end(self, branch: XaBranch) -> None:
        """Say that nothing more belongs to the branch."""
        self.execute(f"XA END {branch.literal}")

    def prepare(self, branch: XaBranch) -> None:
        """Make the branch durable: from now on it can be committed whatever happens."""
        self.execute(f"XA PREPARE {branch.literal}")

    def commit(self, branch: XaBranch) -> bool:
        """Make a prepared branch visible; tell whether there was such a branch."""
        return self._finish(f"XA COMMIT {branch.literal}")

    def roll_back(self, branch: XaBranch) -> bool:
        """Drop a branch; tell whether there was such a branch."""
        return self._finish(f"XA ROLLBACK {branch.literal}")

    def prepared(self, sink: str) -> list[XaBranch]:
        """Return all prepared branches of a sink, whichever subtask or run they are of."""
        rows: list[Any] = self.query("XA RECOVER")
        branches = (XaBranch.read(row) for row in rows)
        return [branch for branch in branches if branch is not None and branch.sink == sink]

    def lock(self, name: str, seconds: int) -> bool:
        """Take a lock that ends with the connection; tell whether it could be had in time."""
        ((answer,),) = self.query(f"SELECT GET_LOCK('{name}', {seconds})")
        return bool(answer == 1)

    def unlock(self, name: str) -> None:
        """Give a lock back."""
        self.query(f"SELECT RELEASE_LOCK('{name}')")

    def evict(self, name: str) -> None:
        """End the connection that holds a lock, if there is one: it belongs to a process that should be gone."""
        ((holder,),) = self.query(f"SELECT IS_USED_LOCK('{name}')")
        if holder is not None:
            _unless(_UNKNOWN_THREAD, lambda: self.execute(f"KILL {int(holder)}"))

    def _finish(self, statement: str) -> bool:
        return _unless(_UNKNOWN_BRANCH, lambda: self.execute(statement))


def _unless(code: int, call: Callable[[], Any]) -> bool:
    """Call; tell whether the server had nothing to complain of, or just this."""
    try:
        call()
    except import_pymysql().err.MySQLError as error:
        if error.args and error.args[0] == code:
            return False
        raise
    return True
