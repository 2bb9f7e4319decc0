"""From the stages of a plan to one plain Spark job: a line of stages, each behind a blocking shuffle and a sort.

Spark's sort has bounded memory and spills, in the JVM. A task that is lost is computed again from the output of the
stage before it. Should its rows then not be the same as before, because a function of the program is not
deterministic, Spark's checksums of shuffles tell, and all stages behind it are computed again as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.graph.plan import Plan

__all__ = ["ROWS_TEXT", "build_frame"]

ROWS_TEXT = "p int, o binary, b binary"
"""The task of the next stage, the place in its order, and the block."""


def build_frame(session: SparkSession, plan: Plan, entry: Callable[[int], Any]) -> DataFrame:
    """Return the DataFrame of a job; its rows are what the tasks of the last stage hand over.

    Args:
        session: A session with ``BATCH_SETTINGS``.
        plan: The plan of the job.
        entry: Returns what runs in the tasks of a stage.
    """
    first = plan.stages[0].parallelism
    frame: Any = session.range(0, first, 1, first)
    for stage in plan.stages:
        if stage.index > 0:
            frame = frame.repartitionById(stage.parallelism, "p").sortWithinPartitions("o")
        frame = frame.mapInArrow(_named(entry(stage.index), stage.index), ROWS_TEXT)
    result: DataFrame = frame
    return result


def _named(main: Callable[[Any], Any], stage: int) -> Any:
    """Return a plain function, whose name is what Spark's page shows."""

    def penstock_batch_stage(batches: Any) -> Any:
        return main(batches)

    penstock_batch_stage.__name__ = f"penstock_batch_stage_{stage}"
    return penstock_batch_stage
