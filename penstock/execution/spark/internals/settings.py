"""Settings of Spark that jobs need, most of them undocumented."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark import SparkConf

__all__ = [
    "BATCH_CORE_SETTINGS",
    "BATCH_FAILURES",
    "BATCH_SETTINGS",
    "CORE_SETTINGS",
    "FORK_SERVER_SETTING",
    "JOB_PROPERTIES",
    "LOCAL_FORK_SERVER",
    "SHIPPED_FORK_SERVER",
    "are_missing",
    "executor_patience",
    "private_places",
]

CORE_SETTINGS = {
    # A row must not wait in a buffer between the JVM and a Python worker, or in the shuffle's network buffer.
    "spark.buffer.size": "128",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    # Under back-pressure this much is in flight per task, and every barrier waits behind it.
    "spark.shuffle.streaming.readerMaxMemory": "1048576",
    "spark.shuffle.streaming.writerMaxMemory": "1048576",
    # A thread of its own writes to the Python worker, so that its output is read while it gets no input.
    "spark.python.udf.pipelined.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    # A single retried task cannot rejoin a running pipeline: Penstock restarts the whole job from a checkpoint.
    "spark.task.maxFailures": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
}
"""What the SparkContext needs to be started with."""

JOB_PROPERTIES = {
    # One block per Arrow batch: else rows wait for 10,000 others.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "64",
}
"""What has to be set in the thread that submits a job: a plan that is run by hand does not carry SQL settings."""

BATCH_FAILURES = 4
"""How often a task of a batch job may be lost before the job fails: what Spark itself takes for right."""

BATCH_CORE_SETTINGS = {**CORE_SETTINGS, "spark.task.maxFailures": str(BATCH_FAILURES)}
"""What a SparkContext is started with for a batch job."""

BATCH_SETTINGS = {
    # Rows are blocks of up to 256 kB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
    "spark.sql.adaptive.enabled": "false",
    # Tells whether a task that runs again gives the same rows; if not, what has read the old ones runs again, too.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
}
"""What the session of a batch job needs."""

_LONGEST_SOCKET_PLACE = 60
"""The path of a socket has at most 108 bytes; Spark's name for it has 42."""

FORK_SERVER_SETTING = "spark.python.daemon.module"
"""Names the module that an executor starts to fork Python workers from."""

LOCAL_FORK_SERVER = "penstock.execution.spark.internals.fork_server"
SHIPPED_FORK_SERVER = "penstock_fork_server"
"""The module that the driver sends to the executors of a cluster, which need not have Penstock installed."""


def executor_patience(interval: int, timeout: int, look: int) -> dict[str, str]:
    """Return what makes Spark give up an executor that has not been heard of; all in milliseconds."""
    return {
        "spark.executor.heartbeatInterval": f"{interval}ms",
        "spark.storage.blockManagerHeartbeatTimeoutMs": f"{timeout}ms",
        "spark.network.timeoutInterval": f"{look}ms",
    }


def private_places(directory: Path) -> dict[str, str]:
    """Return the settings by which a local session puts its files and sockets into a directory of this user alone."""
    places = {"spark.local.dir": str(directory)}
    if len(str(directory)) <= _LONGEST_SOCKET_PLACE:
        places["spark.python.unix.domain.socket.dir"] = str(directory)
    return places


def are_missing(conf: SparkConf) -> bool:
    """Tell whether a session was started without the settings that a streaming job cannot do without."""
    return conf.get("spark.task.maxFailures") != "1" or conf.get("spark.python.udf.pipelined.enabled") != "true"
