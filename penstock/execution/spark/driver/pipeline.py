"""From the stages of a plan to one Spark job whose stages run at the same time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from penstock.execution.spark.internals.plan import pipelined_plan
from penstock.execution.spark.worker.exchange import SCHEMA_TEXT
from penstock.execution.spark.worker.stage_main import StageMain
from penstock.pyflink_alias import is_alias_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.execution.spark.control.heartbeats import HeartbeatSettings
    from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess
    from penstock.graph.plan import Plan

__all__ = ["build_pipeline"]


def build_pipeline(
    session: SparkSession,
    plan: Plan,
    payload: bytes,
    *,
    address: tuple[str, int],
    key: bytes,
    attempt: int,
    access: CheckpointAccess,
    heartbeat: HeartbeatSettings,
) -> Any:
    """Return the Spark plan of a packed job: a line of stages with pipelined shuffles between them."""
    first = plan.stages[0].parallelism
    frame: Any = session.range(0, first, 1, first)
    for stage in plan.stages:
        if stage.index > 0:
            frame = frame.repartitionById(stage.parallelism, "p")
        main = StageMain(
            payload,
            stage.index,
            address,
            key,
            attempt,
            tuple(sys.path),
            access,
            heartbeat,
            has_alias=is_alias_installed(),
        )
        frame = frame.mapInArrow(_entry(main), SCHEMA_TEXT)
    return pipelined_plan(frame)


def _entry(main: StageMain) -> Any:
    """Return a plain function, whose name is what Spark's page shows."""

    def penstock_stage(batches: Any) -> Any:
        return main(batches)

    penstock_stage.__name__ = f"penstock_stage_{main.stage}"
    return penstock_stage
