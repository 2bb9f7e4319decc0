"""Commits prepared branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.connection import import_pymysql, is_transient
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sinks.protocol import Committer

if TYPE_CHECKING:
    from penstock.connectors.mysql.xa_branch import BranchNames, XaBranch
    from penstock.connectors.mysql.xa_session import XaSession

__all__ = ["XaCommitter"]

_UNTIL_CONNECTION_ENDS = (0.005, 0.02, 0.1, 0)


class XaCommitter(Committer):
    """Commits in order; a branch that is not there any more was committed before."""

    def __init__(self, names: BranchNames, session: XaSession) -> None:
        self._names = names
        self._session = session
        self._tried: set[XaBranch] = set()

    def commit(self, committables: list[Any]) -> list[Any]:
        """Commit; those that meet a failure that may pass, and all after them, are to be tried again."""
        left = list(committables)
        try:
            self._session.open()
            while left and self.commit_branch(left[0]):
                del left[0]
        except import_pymysql().err.MySQLError as error:
            if not is_transient(error):
                raise
        finally:
            self._session.close()  # a connection that is kept from one checkpoint to the next may be lost by then
        return left

    def recover(self, committables: list[Any]) -> list[Any]:
        """Commit what a restored checkpoint holds, after the processes that prepared it are cut off."""
        self._tried.update(committables)
        try:
            self._session.open()
            for owner in sorted({branch.owner for branch in committables}):
                self._session.evict(self._names.lock(owner))
        except import_pymysql().err.MySQLError as error:
            self._session.close()
            if not is_transient(error):
                raise
            return committables
        return self.commit(committables)

    def commit_branch(self, branch: XaBranch) -> bool:
        """Commit one branch; tell whether it is committed now."""
        was_tried = branch in self._tried
        self._tried.add(branch)
        for seconds in _UNTIL_CONNECTION_ENDS:
            is_done = self._session.commit(branch)
            if not is_done and branch not in self._session.prepared(branch.sink):
                self._check_gone(branch, was_tried=was_tried)
                is_done = True
            if is_done:
                self._tried.discard(branch)
                return True
            self._session.wait(seconds)  # the connection that prepared it has not ended yet
        return False

    def _check_gone(self, branch: XaBranch, *, was_tried: bool) -> None:
        """Complain of a branch that is gone although nobody here has tried to commit it."""
        if not was_tried:
            message = (
                f"The prepared transaction {branch.literal} at {self._session.options.place} is gone before it was "
                "committed: somebody else has committed it or rolled it back. In the second case its rows are lost."
            )
            raise ExternalSystemError(message)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()
