"""The Spark session a job runs in: the one that is there, or a local one made for it."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.errors import ClusterError, NotEnoughSlotsError
from penstock.execution.spark.control.heartbeats import HeartbeatSettings
from penstock.execution.spark.driver.lent_settings import LentSettings
from penstock.execution.spark.driver.shipping import ship_fork_server
from penstock.execution.spark.internals.context import is_stopped, slot_count
from penstock.execution.spark.internals.gateway import has_context, start_gateway
from penstock.execution.spark.internals.jvm_death import forget_jvm, how_jvm_ended
from penstock.execution.spark.internals.settings import (
    BATCH_CORE_SETTINGS,
    BATCH_FAILURES,
    CORE_SETTINGS,
    FORK_SERVER_SETTING,
    LOCAL_FORK_SERVER,
    SHIPPED_FORK_SERVER,
    are_missing,
    executor_patience,
    private_places,
)
from penstock.execution.spark.internals.shuffle_gate import gate_on_executors, install_gate
from penstock.execution.spark.internals.version import check_version
from penstock.foundation.clock import monotonic_seconds, pause
from penstock.foundation.private_directory import private_directory
from penstock.vocabulary.settings.secret_values import SECRET_NAMES

__all__ = ["acquire_slots", "find_session", "release_slots", "stop_own_session"]

_LOCAL_SLOTS = 64
_LOCAL_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The JVM of a local session only moves bytes between Python workers. The optimizing compiler doubles the time of its
start and takes the workers' cores: on two of them a keyed count made 1.0 to 1.3 million records a second with
it, 1.6 to 2.1 without."""
_REGISTRATION_SECONDS = 20.0

_log = logging.getLogger("penstock.session")
_lock = threading.Lock()
_own_session: SparkSession | None = None
_used_slots: dict[str, int] = {}
_lent_settings = LentSettings()


def find_session(
    given: SparkSession | None, options: dict[str, Any], slots: int, *, is_batch: bool = False
) -> SparkSession:
    """Return the session for a job: the given one, the active one, or a new one as the ``spark.*`` options say."""
    global _own_session
    with _lock:
        _replace_dead_session(given)
        session = given or _existing_session()
        if session is not None and _is_own(session) and _is_too_small(session, slots):
            # Our own local session has no room for this job and nobody uses it: a larger one costs seconds.
            session.stop()
            session = None
        if session is None:
            session = _own_session = _create_session(options, slots, is_batch=is_batch)
    check_version(session.version)
    if is_batch:
        return session
    _check_settings(session)
    if _local_slots(str(session.sparkContext.master)) is not None:
        install_gate()  # for a session that the program has started itself
    if str(session.conf.get("spark.sql.adaptive.enabled")).lower() == "true":
        # Adaptive execution hides the exchanges. The program's own queries keep it: this is a session beside theirs.
        session = session.newSession()
        session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


def _replace_dead_session(given: SparkSession | None) -> None:
    """Forget our own session whose JVM has ended; say it where the program has made the session."""
    global _own_session
    end = how_jvm_ended()
    if end is None:
        return
    if _own_session is None or (given is not None and not _is_own(given)):
        message = (
            f"The Spark session is dead: its JVM has ended ({end}). Penstock did not start it and cannot start another"
            " one like it: end this program and start it again."
        )
        raise ClusterError(message)
    _log.warning("the JVM of the Spark session has ended (%s); a new session is started", end)
    forget_jvm()
    _own_session = None
    _used_slots.clear()


def _existing_session() -> SparkSession | None:
    if not has_context():
        return None
    # The active session belongs to a thread; the program may have made it in another one.
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _is_own(session: SparkSession) -> bool:
    return _own_session is not None and session.sparkContext is _own_session.sparkContext


def _is_too_small(session: SparkSession, slots: int) -> bool:
    return str(session.sparkContext.master).startswith("local[") and slot_count(session) < slots and not _used_slots


def _create_session(options: dict[str, Any], slots: int, *, is_batch: bool) -> SparkSession:
    settings = _settings(options, slots, is_batch=is_batch)
    local_slots = _local_slots(settings["spark.master"])
    if local_slots is not None and local_slots < slots:
        raise _not_enough(slots, local_slots, 0, settings["spark.master"])
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # A second JVM, which only puts the command line of the first one together: nothing in it lives long.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto")
    is_main_thread = threading.current_thread() is threading.main_thread()
    on_interrupt = signal.getsignal(signal.SIGINT) if is_main_thread else None
    start_gateway(settings)
    if local_slots is not None:
        install_gate()
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if on_interrupt is not None:
        # PySpark's own reaction to Ctrl-C kills every job before its functions are closed.
        signal.signal(signal.SIGINT, on_interrupt)
    if settings[FORK_SERVER_SETTING] == SHIPPED_FORK_SERVER:
        ship_fork_server(session.sparkContext)  # now: no Python worker of this session starts without it
    return session


def _settings(options: dict[str, Any], slots: int, *, is_batch: bool) -> dict[str, str]:
    retries = f",{BATCH_FAILURES}" if is_batch else ""
    settings = {
        **(BATCH_CORE_SETTINGS if is_batch else CORE_SETTINGS),
        "spark.master": os.environ.get("MASTER", f"local[{max(_LOCAL_SLOTS, slots)}{retries}]"),
        "spark.app.name": "penstock",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": SECRET_NAMES,
        **{key: str(value) for key, value in options.items() if key.startswith("spark.")},
    }
    is_local = settings["spark.master"].startswith("local")
    java_options = settings.get("spark.driver.extraJavaOptions") or (_LOCAL_JAVA_OPTIONS if is_local else "")
    logging_file = Path(__file__).with_name("log4j2.properties").as_uri()
    settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={logging_file} {java_options}".strip()
    if is_local:
        # All workers are started by this process's children, which find Penstock where this process found it.
        package_root = str(Path(__file__).resolve().parents[4])
        search_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if package_root not in search_path:
            os.environ["PYTHONPATH"] = os.pathsep.join([package_root, *filter(None, search_path)])
        if "SPARK_LOCAL_DIRS" not in os.environ:
            settings = {**private_places(private_directory("spark")), **settings}
        # Nothing outside this machine talks to a local session.
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
        settings.setdefault("spark.driver.host", "127.0.0.1")
    is_cluster = _local_slots(settings["spark.master"]) is None
    settings.setdefault(FORK_SERVER_SETTING, SHIPPED_FORK_SERVER if is_cluster else LOCAL_FORK_SERVER)
    if is_cluster:
        # An executor that stands still or is cut off is lost to Spark as soon as its workers are to the job.
        heartbeat = HeartbeatSettings.from_options(options)
        patience = executor_patience(heartbeat.interval, heartbeat.timeout, heartbeat.look_millis)
        settings = {**patience, **settings}
        settings |= gate_on_executors(settings)
    return settings


def _local_slots(master: str) -> int | None:
    """Return how many slots a local master will have, ``None`` for a cluster."""
    if master == "local":
        return 1
    match = re.fullmatch(r"local\[\s*(\d+|\*)\s*(,.*)?\]", master)
    if match is None:
        return None
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1])


def _check_settings(session: SparkSession) -> None:
    """Say what settings a session that others started lacks; a local one gets them while jobs run."""
    context = session.sparkContext
    conf = context.getConf()
    if _local_slots(str(context.master)) is not None:
        return
    if are_missing(conf):
        lines = "\n".join(f"  {key}={value}" for key, value in CORE_SETTINGS.items())
        message = (
            f"The Spark session on {context.master} was not started with the settings a streaming job needs."
            f" Start it with\n{lines}\n"
            "or set spark.master in the configuration and let Penstock start it."
        )
        raise ClusterError(message)


def acquire_slots(session: SparkSession, job_id: str, needed: int) -> None:
    """Take the slots of a job, all at once; all its subtasks must run at the same time.

    A job that has its slots already asks again before it restarts: the executor that made it fail may be gone
    for a while.
    """
    master = str(session.sparkContext.master)
    deadline = monotonic_seconds() + _REGISTRATION_SECONDS
    while True:
        with _lock:
            total = slot_count(session)
            used = sum(slots for job, slots in _used_slots.items() if job != job_id)
            if total - used >= needed:
                _used_slots[job_id] = needed
                if _local_slots(master) is not None:
                    _lent_settings.lend(session, job_id, CORE_SETTINGS, _worker_python(session))
                return
        if _local_slots(master) is not None or monotonic_seconds() > deadline:
            raise _not_enough(needed, total, used, master)
        pause(0.1)  # executors of a cluster register one after the other


def _worker_python(session: SparkSession) -> str | None:
    """Return the Python of the workers of a local session, ``None`` where the environment says which."""
    if "PYSPARK_PYTHON" in os.environ:
        return None
    # On one machine workers are to have the program's own Python with its packages, not the first one on the path.
    return session.sparkContext.getConf().get("spark.pyspark.python") or sys.executable


def _not_enough(needed: int, total: int, used: int, master: str) -> NotEnoughSlotsError:
    others = f", of which {used} are used by other jobs" if used else ""
    where = f"spark.master=local[{used + needed}]" if _local_slots(master) is not None else "more executor cores"
    return NotEnoughSlotsError(
        f"The job needs {needed} task slots at the same time, one for each parallel subtask of each stage,"
        f" but Spark ({master}) has {total}{others}."
        f" Give it {needed - (total - used)} more ({where}), or lower the parallelism."
    )


def release_slots(job_id: str) -> None:
    """Give the slots of a job back, and put back the settings of the session when it was the last one."""
    with _lock:
        _used_slots.pop(job_id, None)
        _lent_settings.give_back(job_id)


def stop_own_session() -> None:
    """Stop the session that Penstock started, if there is one."""
    global _own_session
    with _lock:
        if _own_session is not None and how_jvm_ended() is None and not is_stopped(_own_session):
            _own_session.stop()
        _own_session = None
