"""Runs an ordinary DataFrame as **one job whose stages run at the same time**.

The stages are connected by Spark's pipelined ("streaming") shuffle, which Spark itself uses for its real-time mode.

- ``DataFrame._jdf.queryExecution().executedPlan()`` (sql/core/.../QueryExecution.scala): the physical plan.
- ``SparkPlan.withNewChildren`` (sql/catalyst/.../TreeNode.scala): rebuilds a plan bottom-up.
- ``PythonUtils.toSeq`` (core/.../api/python/PythonUtils.scala): a Scala sequence of the new children.
- ``ShuffleExchangeExec.copy(..., pipelined)`` (sql/core/.../exchange/ShuffleExchangeExec.scala): the fifth field marks
  an exchange as pipelined; new in Spark 4.3.
- ``SparkPlan.executeCollectPublic`` (sql/core/.../SparkPlan.scala): runs the plan.
- ``SparkSession.setActiveSession`` (sql/core/.../classic/SparkSession.scala): plans take the session of the JVM thread
  they are made in, and every Python thread has a JVM thread of its own.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import ClusterError

__all__ = ["pipelined_plan", "run_plan"]


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
