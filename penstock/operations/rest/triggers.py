"""Operations that take a while: begun by one request, asked about by others under the id of their trigger."""

from __future__ import annotations

import re
import threading
import traceback
import uuid
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.operations.rest.exchange import RestError
from penstock.vocabulary.settings.secret_values import hide_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

__all__ = ["Triggers"]

_MOST = 1000
_TRIGGER_ID = re.compile(r"[0-9a-f]{32}")


class Triggers:
    """The operations that somebody has begun; a repeated request with the same id is the same operation."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._operations: dict[tuple[str, str, str], Future[Any]] = {}
        self._untold: set[tuple[str, str, str]] = set()
        """Those that end their job and whose result nobody has asked for yet."""

    def begin(
        self,
        kind: str,
        job_id: str,
        trigger_id: str | None,
        operation: Callable[[], Future[Any]],
        *,
        ends_job: bool = False,
    ) -> str:
        """Begin an operation, unless that was done under this id before; return its id."""
        if trigger_id is not None and not _TRIGGER_ID.fullmatch(trigger_id):
            raise RestError(400, "'triggerId' has to be 32 hexadecimal digits in lower case.")
        trigger_id = trigger_id or uuid.uuid4().hex
        key = (kind, job_id, trigger_id)
        with self._lock:
            if key not in self._operations:
                self._make_room()
                try:
                    self._operations[key] = operation()
                except PenstockError as error:
                    raise RestError(409, hide_password(str(error))) from error
                if ends_job:
                    self._untold.add(key)
        return trigger_id

    def ask(self, kind: str, job_id: str, trigger_id: str, name: str) -> dict[str, Any]:
        """Return how far an operation is, in Flink's form; its result is put under a name."""
        with self._lock:
            future = self._operations.get((kind, job_id, trigger_id))
        if future is None:
            raise RestError(404, f"There is no operation {trigger_id!r} of this kind on this job.")
        if not future.done():
            return {"status": {"id": "IN_PROGRESS"}, "operation": None}
        with self._lock:
            self._untold.discard((kind, job_id, trigger_id))
            self._lock.notify_all()
        error = future.exception()
        operation = {name: future.result()} if error is None else {"failure-cause": _cause(error)}
        return {"status": {"id": "COMPLETED"}, "operation": operation}

    def wait_until_told(self, job_id: str, seconds: float) -> None:
        """Wait until whoever has ended a job has asked how it went, at most for some seconds."""
        with self._lock:
            self._lock.wait_for(lambda: all(job != job_id for _, job, _ in self._untold), seconds)

    def _make_room(self) -> None:
        done = [key for key, future in self._operations.items() if future.done()]
        for key in done[: max(0, len(self._operations) - _MOST + 1)]:
            del self._operations[key]
            self._untold.discard(key)
        if len(self._operations) >= _MOST:
            raise RestError(503, "Too many operations are under way.")


def _cause(error: BaseException) -> dict[str, str]:
    text = "".join(traceback.format_exception_only(error)).strip()
    return {"class": type(error).__name__, "stack-trace": hide_password(text)}
