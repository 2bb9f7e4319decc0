"""The only module that touches Spark's private side: py4j, JVM plans, names that are not part of PySpark's API.

Everything here serves one purpose: to run an ordinary DataFrame as **one job whose stages run at the same time**,
connected by Spark's pipelined ("streaming") shuffle, which Spark itself uses for its real-time mode. Each name is
listed with the Spark file it comes from.

- ``DataFrame._jdf.queryExecution().executedPlan()`` (sql/core/.../QueryExecution.scala): the physical plan.
- ``SparkPlan.withNewChildren`` (sql/catalyst/.../TreeNode.scala): rebuilds a plan bottom-up.
- ``ShuffleExchangeExec.copy(..., pipelined)`` (sql/core/.../exchange/ShuffleExchangeExec.scala): the fifth field marks
  an exchange as pipelined; new in Spark 4.3.
- ``SparkPlan.executeCollectPublic`` (sql/core/.../SparkPlan.scala): runs the plan.
- ``SparkSession.setActiveSession`` (sql/core/.../classic/SparkSession.scala): plans take the session of the JVM thread
  they are made in, and every Python thread has a JVM thread of its own.
- ``SparkContext.cancelJobGroupAndFutureJobs`` (core/.../SparkContext.scala): PySpark only offers the variant that
  misses a job that is being submitted at this moment.
- ``launch_gateway`` and ``SparkContext._ensure_initialized`` (pyspark): start the JVM as PySpark itself does, with an
  eye on what it prints.
- ``SparkContext.maxNumConcurrentTasks`` (core/.../SparkContext.scala): the slots of all executors; the public
  ``defaultParallelism`` can be set to anything.
- ``SparkContext.conf`` (core/.../SparkContext.scala): the settings themselves, not the copy that PySpark hands out;
  tasks of a local master read them when they start.
"""

from __future__ import annotations

import os
import subprocess
import threading
from typing import IO, TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from penstock.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "SPARK_ERRORS",
    "SPARK_VERSION",
    "cancel_jobs",
    "change_local_settings",
    "check_version",
    "is_stopped",
    "pipelined_plan",
    "run_plan",
    "slot_count",
    "start_gateway",
]

SPARK_VERSION = "4.3"
SPARK_ERRORS = (Py4JError, PySparkException)
"""What PySpark raises when something fails on Spark's side."""


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


def check_version(version: str) -> None:
    """Refuse a Spark whose plans are not known to look as expected here."""
    if not version.startswith(f"{SPARK_VERSION}."):
        message = (
            f"Penstock needs Spark {SPARK_VERSION}, whose pipelined shuffle it runs on; this is Spark {version}."
            f" Install it with: pip install 'pyspark=={SPARK_VERSION}.*'"
        )
        raise ClusterError(message)


def pipelined_plan(frame: Any) -> Any:
    """Return the physical plan of a DataFrame with every exchange made pipelined."""
    session = frame.sparkSession
    jvm = session._jvm
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
    plan = _rebuild(jvm, frame._jdf.queryExecution().executedPlan())
    shown = plan.toString()
    if shown.count("Exchange") != shown.count("isPipelined=true"):
        message = f"Spark did not accept a pipelined plan; it made\n{shown}"
        raise ClusterError(message)
    return plan


def _rebuild(jvm: Any, plan: Any) -> Any:
    children = plan.children()
    if children.size():
        rebuilt = [_rebuild(jvm, children.apply(position)) for position in range(children.size())]
        plan = plan.withNewChildren(jvm.org.apache.spark.api.python.PythonUtils.toSeq(rebuilt).toIndexedSeq())
    if plan.getClass().getSimpleName() == "ShuffleExchangeExec":
        is_pipelined = True
        plan = plan.copy(
            plan.outputPartitioning(), plan.child(), plan.shuffleOrigin(), plan.advisoryPartitionSize(), is_pipelined
        )
    return plan


def run_plan(plan: Any) -> None:
    """Run a plan to its end; its tasks return no rows."""
    plan.executeCollectPublic()


def cancel_jobs(session: Any, group: str) -> None:
    """Cancel the jobs of a group, also one that is not submitted yet."""
    session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)


def change_local_settings(session: Any, settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """Set core settings of a local master that is already running; its tasks read them when they start.

    ``None`` takes a setting away. Returns those that were different, with what they were.
    """
    conf = session.sparkContext._jsc.sc().conf()
    before: dict[str, str | None] = {}
    for key, value in settings.items():
        old = str(conf.get(key)) if conf.contains(key) else None
        if old == value:
            continue
        before[key] = old
        if value is None:
            conf.remove(key)
        else:
            conf.set(key, value)
    return before


def slot_count(session: Any) -> int:
    """Return how many tasks the executors that have registered can run at the same time."""
    context = session.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def is_stopped(session: Any) -> bool:
    """Tell whether the SparkContext of a session has been stopped."""
    return session.sparkContext._jsc is None or bool(session.sparkContext._jsc.sc().isStopped())
