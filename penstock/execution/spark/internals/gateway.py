"""The driver's JVM: started as PySpark starts it, and the session that already runs in it.

- ``launch_gateway`` (python/pyspark/java_gateway.py) and ``SparkContext._ensure_initialized``
  (python/pyspark/core/context.py): start the JVM as PySpark itself does, with an eye on what it prints.
- ``SparkContext._gateway`` and ``SparkContext._active_spark_context`` (python/pyspark/core/context.py): whether there
  is a JVM, and a context in it, without starting one.
"""

from __future__ import annotations

import os
import subprocess
import threading
from typing import IO, Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

__all__ = ["has_context", "start_gateway"]

_NOISE = b"WARNING: Using incubator modules"


def start_gateway(settings: dict[str, str]) -> None:
    """Start the JVM of the driver, if it does not run yet, and keep its greeting from the user's terminal."""
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway: Any = launch_gateway(conf, {"stderr": subprocess.PIPE})
    process = getattr(gateway, "proc", None)
    if process is not None:  # None: the JVM was there before this process
        threading.Thread(target=_pass_on, args=(process.stderr,), name="penstock stderr", daemon=True).start()
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _pass_on(stream: IO[bytes]) -> None:
    """Copy what the JVM says to standard error, but for the line that every Java prints at start."""
    for line in stream:
        if not line.startswith(_NOISE):
            os.write(2, line)


def has_context() -> bool:
    """Tell whether this process has a SparkContext."""
    return SparkContext._active_spark_context is not None
