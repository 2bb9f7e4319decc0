"""The Spark session a job runs in: the one that is there, or a local one made for it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.errors import ClusterError, NotEnoughSlotsError
from penstock.execution.spark.internals import check_version, is_stopped, set_local_settings
from penstock.runtime.clock import monotonic_seconds, pause

__all__ = ["CORE_SETTINGS", "JOB_PROPERTIES", "acquire_slots", "find_session", "release_slots", "stop_own_session"]

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
"""What has to be set in the thread that submits a job, because a plan that is run by hand does not carry SQL
settings."""

_LOCAL_SLOTS = 64
_REGISTRATION_SECONDS = 20.0

_lock = threading.Lock()
_own_session: SparkSession | None = None
_used_slots: dict[str, int] = {}


def find_session(given: SparkSession | None, options: dict[str, Any], slots: int) -> SparkSession:
    """Return the session for a job: the given one, the active one, or a new one as the ``spark.*`` options say."""
    global _own_session
    with _lock:
        session = given or SparkSession.getActiveSession()
        if session is None and _own_session is not None and not is_stopped(_own_session):
            session = _own_session
        if session is not None and session is _own_session and _is_too_small(session, slots):
            # Our own local session has no room for this job and nobody uses it: a larger one costs seconds.
            session.stop()
            session = None
        if session is None:
            session = _own_session = _create_session(options, slots)
    check_version(session.version)
    _prepare(session)
    return session


def _is_too_small(session: SparkSession, slots: int) -> bool:
    context = session.sparkContext
    return str(context.master).startswith("local[") and context.defaultParallelism < slots and not _used_slots


def _create_session(options: dict[str, Any], slots: int) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    logging_file = Path(__file__).with_name("log4j2.properties").as_uri()
    settings = {
        **CORE_SETTINGS,
        "spark.master": os.environ.get("MASTER", f"local[{max(_LOCAL_SLOTS, slots)}]"),
        "spark.app.name": "penstock",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging_file}",
        **{key: str(value) for key, value in options.items() if key.startswith("spark.")},
    }
    if settings["spark.master"].startswith("local"):
        # All workers are started by this process's children, which find Penstock where this process found it.
        package_root = str(Path(__file__).resolve().parents[3])
        search_path = [package_root, *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(search_path)
        settings.setdefault("spark.python.daemon.module", "penstock.execution.spark.daemon")
        # Nothing outside this machine talks to a local session.
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
        settings.setdefault("spark.driver.host", "127.0.0.1")
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _prepare(session: SparkSession) -> None:
    """Bring a session that others started to the settings a job needs, or say which are missing."""
    context = session.sparkContext
    conf = context.getConf()
    wrong = {key: value for key, value in CORE_SETTINGS.items() if conf.get(key) != value}
    if not wrong:
        return
    if str(context.master).startswith("local[") or context.master == "local":
        set_local_settings(session, wrong)
        return
    if conf.get("spark.task.maxFailures") != "1" or conf.get("spark.python.udf.pipelined.enabled") != "true":
        lines = "\n".join(f"  {key}={value}" for key, value in CORE_SETTINGS.items())
        message = (
            f"The Spark session on {context.master} was not started with the settings a streaming job needs."
            f" Start it with\n{lines}\n"
            "or set spark.master in the configuration and let Penstock start it."
        )
        raise ClusterError(message)


def acquire_slots(session: SparkSession, job_id: str, needed: int) -> None:
    """Take the slots of a job, all at once; all its subtasks must run at the same time."""
    context = session.sparkContext
    deadline = monotonic_seconds() + _REGISTRATION_SECONDS
    while True:
        with _lock:
            total = context.defaultParallelism
            used = sum(_used_slots.values())
            if total - used >= needed:
                _used_slots[job_id] = needed
                return
        if str(context.master).startswith("local[") or monotonic_seconds() > deadline:
            break
        pause(0.2)  # executors of a cluster register one after the other
    message = (
        f"The job needs {needed} task slots at the same time, one for each parallel subtask of each stage,"
        f" but Spark ({context.master}) has {total}{f', of which {used} are used by other jobs' if used else ''}."
        f" Give it {needed - (total - used)} more"
        f" (for example spark.master=local[{used + needed}], or more executor cores), or lower the parallelism."
    )
    raise NotEnoughSlotsError(message)


def release_slots(job_id: str) -> None:
    """Give the slots of a job back."""
    with _lock:
        _used_slots.pop(job_id, None)


def stop_own_session() -> None:
    """Stop the session that Penstock started, if there is one."""
    global _own_session
    with _lock:
        if _own_session is not None and not is_stopped(_own_session):
            _own_session.stop()
        _own_session = None
