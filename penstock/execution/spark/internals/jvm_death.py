"""Finds out that the driver's JVM has ended, and lets PySpark start another one.

- ``SparkContext._gateway``, ``_jvm``, ``_active_spark_context`` (python/pyspark/core/context.py) and
  ``SparkSession._instantiatedSession``, ``_activeSession`` (python/pyspark/sql/session.py): what PySpark remembers of a
  JVM; it only forgets it when a session is stopped, which needs the JVM.
- ``JavaGateway.proc`` (python/pyspark/java_gateway.py): the process, where PySpark has started it.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

__all__ = ["connection_lost", "forget_jvm", "how_jvm_ended"]


def how_jvm_ended(seconds: float = 0.0) -> str | None:
    """Say how the JVM of this process has ended, ``None`` where it runs or there is none.

    ``seconds`` is how long to wait for an end that shows already: connections break before the process is gone.
    """
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return None if _answers(gateway) else "it does not answer"
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(seconds)
        return f"signal {-code}" if code < 0 else f"exit code {code}"
    return None


def connection_lost(error: BaseException) -> bool:
    """Tell whether an error says that the JVM did not answer, and not what it answered."""
    return isinstance(error, (Py4JNetworkError, ConnectionError))


def _answers(gateway: Any) -> bool:
    try:
        gateway.jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError):
        return False
    return True


def forget_jvm() -> None:
    """Let the next session start a JVM of its own."""
    gateway: Any = SparkContext._gateway
    with contextlib.suppress(Exception):  # it has nobody to talk to
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    for stream in () if process is None else (process.stdin, process.stdout):  # a thread of ours reads the third
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
