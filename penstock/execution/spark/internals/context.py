"""What a running SparkContext can be asked and told beyond PySpark's API.

- ``SparkContext._jsc.sc()`` (python/pyspark/core/context.py): Spark's own context.
- ``SparkContext.cancelJobGroupAndFutureJobs`` (core/.../SparkContext.scala): PySpark only offers the variant that
  misses a job that is being submitted at this moment.
- ``SparkContext.maxNumConcurrentTasks`` and ``resourceProfileManager`` (core/.../SparkContext.scala): the slots of all
  executors; the public ``defaultParallelism`` can be set to anything.
- ``SparkContext.conf`` (core/.../SparkContext.scala): the settings themselves, not the copy that PySpark hands out;
  tasks of a local master read them when they start.
- ``SparkContext.isStopped`` (core/.../SparkContext.scala).
- ``SparkContext.pythonExec`` (python/pyspark/core/context.py): the Python that functions ask their workers to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "cancel_jobs",
    "change_local_settings",
    "change_worker_python",
    "is_stopped",
    "slot_count",
    "worker_python",
]


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


def worker_python(session: Any) -> str:
    """Return the Python that workers of a session's functions run."""
    return str(session.sparkContext.pythonExec)


def change_worker_python(session: Any, python: str) -> None:
    """Have workers of functions that are made from now on run another Python."""
    session.sparkContext.pythonExec = python
