"""A function of the program that ends its worker with ``os._exit``: told as what it is, not as a worker that died."""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from penstock.errors import JobFailedError
from penstock.execution.spark.control.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["exits_told"]

_ADVICE = "It would end the worker with everything in it. Raise an exception to make the job fail."


@contextmanager
def exits_told(tell: Callable[[Failed], None]) -> Iterator[None]:
    """Make ``os._exit`` in the task's thread an exception meanwhile, which is explained like any other.

    In another thread it does what it always does, after the driver was told. Children that functions fork keep theirs.
    """
    real_exit, worker, main = os._exit, os.getpid(), threading.current_thread()

    def exit_told(status: int) -> NoReturn:
        if os.getpid() == worker:
            text = f"os._exit({status!r}) was called. {_ADVICE}"
            if threading.current_thread() is main:
                raise SystemExit(text)
            stack = "".join(traceback.format_stack()[:-1])
            who = threading.current_thread().name
            tell(Failed(JobFailedError(f"{stack}A function of the program failed in thread {who!r}: {text}"), ""))
        real_exit(status)

    os._exit = exit_told
    try:
        yield
    finally:
        os._exit = real_exit
