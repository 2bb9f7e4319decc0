"""The driver's JVM: started as PySpark starts it, and the session that already runs in it.

- ``launch_gateway`` (python/pyspark/java_gateway.py) and ``SparkContext._ensure_initialized``
  (python/pyspark/core/context.py): start the JVM as PySpark itself does, with an eye on what it prints.
- ``SparkContext._gateway`` and ``SparkContext._active_spark_context`` (python/pyspark/core/context.py): whether there
  is a JVM, and a context in it, without starting one.
- ``SPARK_LOCAL_IP`` (core/.../ui/WebUI.scala): the address that Spark's page listens at, from the JVM's environment.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from penstock.vocabulary.settings.secret_values import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_context", "on_command_line", "start_gateway"]

_PAGE_ADDRESS = "SPARK_LOCAL_IP"
_NOISE = b"WARNING: Using incubator modules"


def start_gateway(settings: dict[str, str]) -> None:
    """Start the JVM of the driver, if it does not run yet, and keep its greeting from the user's terminal."""
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(on_command_line(settings))
    with _page_on_this_machine(settings):
        gateway: Any = launch_gateway(conf, {"stderr": subprocess.PIPE})
    process = getattr(gateway, "proc", None)
    if process is not None:  # None: the JVM was there before this process
        threading.Thread(target=_pass_on, args=(process.stderr,), name="penstock stderr", daemon=True).start()
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def on_command_line(settings: dict[str, str]) -> list[tuple[str, str]]:
    """Return the settings that are passed when the JVM is started.

    Every user of the machine can read command lines: what is secret is told to the session later, without one.
    """
    return [(key, value) for key, value in settings.items() if not is_secret(key)]


@contextlib.contextmanager
def _page_on_this_machine(settings: dict[str, str]) -> Iterator[None]:
    """Let Spark's page of a local session, which has no setting for its address, listen on this machine only."""
    if not settings.get("spark.master", "").startswith("local") or _PAGE_ADDRESS in os.environ:
        yield
        return
    os.environ[_PAGE_ADDRESS] = settings.get("spark.driver.bindAddress", "127.0.0.1")
    try:
        yield
    finally:
        del os.environ[_PAGE_ADDRESS]


def _pass_on(stream: IO[bytes]) -> None:
    """Copy what the JVM says to standard error, but for the line that every Java prints at start."""
    with stream:
        for line in stream:
            if not line.startswith(_NOISE):
                os.write(2, line)


def has_context() -> bool:
    """Tell whether this process has a SparkContext."""
    return SparkContext._active_spark_context is not None
