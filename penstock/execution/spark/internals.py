"""The only module that touches Spark's private side: py4j, JVM plans, names that are not part of PySpark's API.

Everything here serves one purpose: to run an ordinary DataFrame as **one job whose stages run at the same time**,
connected by Spark's pipelined ("streaming") shuffle, which Spark itself uses for its real-time mode. Each name is
listed with the Spark file it comes from.

- ``DataFrame._jdf.queryExecution().executedPlan()`` (sql/core/.../QueryExecution.scala): the physical plan.
- ``SparkPlan.withNewChildren`` (sql/catalyst/.../TreeNode.scala): rebuilds a plan bottom-up.
- ``ShuffleExchangeExec.copy(..., pipelined)`` (sql/core/.../exchange/ShuffleExchangeExec.scala): the fifth field
  marks an exchange as
  pipelined; new in Spark 4.3.
- ``SparkPlan.executeCollectPublic`` (sql/core/.../SparkPlan.scala): runs the plan.
- ``SparkSession.setActiveSession`` (sql/core/.../classic/SparkSession.scala): plans take the session of the JVM
  thread they are made in,
  and every Python thread has a JVM thread of its own.
- ``SparkEnv.get().conf()`` (core/.../SparkEnv.scala): the settings that tasks of a local master read when they start.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import ClusterError

__all__ = [
    "SPARK_VERSION",
    "check_version",
    "executor_count",
    "is_stopped",
    "pipelined_plan",
    "run_plan",
    "set_local_settings",
]

SPARK_VERSION = "4.3"


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


def set_local_settings(session: Any, settings: dict[str, str]) -> None:
    """Set core settings of a local master that is already running; its tasks read them when they start."""
    conf = session._jvm.org.apache.spark.SparkEnv.get().conf()
    for key, value in settings.items():
        conf.set(key, value)


def executor_count(session: Any) -> int:
    """Return how many executors have registered; the driver itself is not one."""
    return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def is_stopped(session: Any) -> bool:
    """Tell whether the SparkContext of a session has been stopped."""
    return session.sparkContext._jsc is None or bool(session.sparkContext._jsc.sc().isStopped())
