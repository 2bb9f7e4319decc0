"""Tries everything that this folder uses of Spark beyond its API; ``penstock doctor`` shows the outcome.

The checks look at PySpark's modules and into Spark's jars. They start nothing and take about a second together.
:func:`live_checks` tries the same things in a session that runs. A new use of Spark's inside comes with a check here
and a line in ``docs/design/spark-upgrade.md``.
"""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import ClusterError
from penstock.execution.spark.internals.class_files import find_class
from penstock.execution.spark.internals.context import (
    cancel_jobs,
    change_local_settings,
    is_stopped,
    slot_count,
    worker_python,
)
from penstock.execution.spark.internals.plan import pipelined_plan, run_plan
from penstock.execution.spark.internals.settings import CORE_SETTINGS, FORK_SERVER_SETTING, JOB_PROPERTIES
from penstock.execution.spark.internals.version import check_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BORDER_CHECKS", "Check", "Outcome", "live_checks", "run_checks"]


@dataclass(frozen=True)
class Check:
    """One thing that Penstock needs of Spark's inside."""

    name: str
    attempt: Callable[[], None]
    """Raises whatever it likes where the thing is not as it is needed."""


@dataclass(frozen=True)
class Outcome:
    """What came of a check."""

    name: str
    problem: str | None
    """What is not as it is needed, ``None`` where all is well."""


def run_checks(checks: Iterable[Check]) -> list[Outcome]:
    """Try each of the checks, whatever comes of the others."""
    return [Outcome(check.name, _problem(check)) for check in checks]


def _problem(check: Check) -> str | None:
    try:
        check.attempt()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _need(is_there: bool, what: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not is_there:
        message = f"Spark has no {what} as Penstock needs it"
        raise ClusterError(message)


def _version() -> None:
    import pyspark

    check_version(pyspark.__version__)


def _errors() -> None:
    from penstock.execution.spark.internals.errors import SPARK_ERRORS

    _need(all(issubclass(error, Exception) for error in SPARK_ERRORS), "errors")


def _gateway() -> None:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    _need_parameters(launch_gateway, "conf", "popen_kwargs")
    _need_parameters(SparkContext._ensure_initialized, "gateway", "conf")
    for name in ("_gateway", "_active_spark_context"):
        _need(hasattr(SparkContext, name), f"SparkContext.{name}")


def _fork_server() -> None:
    from pyspark import daemon

    from penstock.execution.spark.internals.fork_server import PRELOADED

    _need_parameters(daemon.manager)
    _need_parameters(daemon.worker, "sock", "authenticated")
    _need("worker" in daemon.manager.__code__.co_names, "call of pyspark.daemon.worker in its manager")
    for name in PRELOADED:
        _need(importlib.util.find_spec(name) is not None, f"module {name}")
    _need_texts("spark-core_", "org/apache/spark/internal/config/Python$", FORK_SERVER_SETTING)


def _plan() -> None:
    execution = "org/apache/spark/sql/execution"
    physical = "org/apache/spark/sql/catalyst/plans/physical/Partitioning"
    exchange = f"{execution}/exchange/ShuffleExchangeExec"
    fields = f"(L{physical};L{execution}/SparkPlan;L{execution}/exchange/ShuffleOrigin;Lscala/Option;Z)L{exchange};"
    _need_methods(
        "spark-sql_", exchange, copy=fields, shuffleOrigin="", advisoryPartitionSize="", outputPartitioning=""
    )
    _need_methods("spark-catalyst_", "org/apache/spark/sql/catalyst/trees/TreeNode", withNewChildren="", children="")
    _need_methods("spark-sql_", f"{execution}/SparkPlan", executeCollectPublic="()[")
    _need_methods("spark-sql_", f"{execution}/QueryExecution", executedPlan="()")
    _need_methods("spark-sql_", "org/apache/spark/sql/classic/Dataset", queryExecution="()")
    _need_methods("spark-sql_", "org/apache/spark/sql/classic/SparkSession", setActiveSession="(L")
    _need_methods("spark-core_", "org/apache/spark/api/python/PythonUtils", toSeq="(Ljava/util/List;)")


def _frames() -> None:
    from pyspark.sql import DataFrame

    # Public, but new: without them the stages cannot be written down.
    _need_parameters(DataFrame.repartitionById, "numPartitions", "partitionIdCol")
    _need_parameters(DataFrame.mapInArrow, "func", "schema")


def _context() -> None:
    from pyspark import SparkContext

    _need_methods(
        "spark-core_",
        "org/apache/spark/SparkContext",
        cancelJobGroupAndFutureJobs="(Ljava/lang/String;)V",
        maxNumConcurrentTasks="(Lorg/apache/spark/resource/ResourceProfile;)I",
        resourceProfileManager="()",
        conf="()Lorg/apache/spark/SparkConf;",
        isStopped="()Z",
    )
    _need_methods("spark-core_", "org/apache/spark/resource/ResourceProfileManager", defaultResourceProfile="()")
    _need("pythonExec" in SparkContext._do_init.__code__.co_names, "SparkContext.pythonExec")
    _need("_jsc" in SparkContext._do_init.__code__.co_names, "SparkContext._jsc")


def _settings() -> None:
    config = "org/apache/spark/internal/config"
    of_core = (
        find_class("spark-core_", f"{config}/package$").texts | find_class("spark-core_", f"{config}/Python$").texts
    )
    missing = CORE_SETTINGS.keys() - of_core
    missing |= JOB_PROPERTIES.keys() - find_class("spark-catalyst_", "org/apache/spark/sql/internal/SQLConf$").texts
    _need(not missing, f"setting {', '.join(sorted(missing))}")


def _gate() -> None:
    writer = "org/apache/spark/shuffle/streaming/StreamingShuffleWriter"
    _need(
        "org/apache/spark/network/server/TransportServer" in find_class("spark-core_", writer).texts,
        f"server of {writer}",
    )
    for name in ("server/TransportServer", "server/TransportChannelHandler", "client/TransportClientFactory"):
        find_class("spark-network-common_", f"org/apache/spark/network/{name}")
    extensions = find_class("netty-transport-4", "io/netty/bootstrap/ChannelInitializerExtensions")
    _need(bool(extensions.methods), "way to see every channel of Netty")


def _need_parameters(function: Any, *names: str) -> None:
    parameters = inspect.signature(function).parameters
    missing = [name for name in names if name not in parameters]
    where = f"{function.__module__}.{function.__qualname__}"
    _need(not missing, f"parameter {', '.join(missing)} of {where}")


def _need_methods(jar: str, owner: str, **descriptors: str) -> None:
    """Look for methods whose descriptors begin like those given."""
    methods = find_class(jar, owner).methods
    for name, beginning in descriptors.items():
        is_there = any(found == name and kind.startswith(beginning) for found, kind in methods)
        _need(is_there, f"{owner.replace('/', '.')}.{name}{beginning}")


def _need_texts(jar: str, owner: str, text: str) -> None:
    _need(text in find_class(jar, owner).texts, text)


BORDER_CHECKS = (
    Check("the version of Spark", _version),
    Check("errors of PySpark and py4j", _errors),
    Check("the start of the JVM", _gateway),
    Check("the fork server in the place of pyspark.daemon", _fork_server),
    Check("the copy of a plan with pipelined exchanges", _plan),
    Check("repartitionById and mapInArrow", _frames),
    Check("slots, settings and cancellation of the SparkContext", _context),
    Check("settings of the pipelined shuffle and of Python workers", _settings),
    Check("the gate in front of the shuffle's servers", _gate),
)
"""What can be looked at without a JVM."""


def live_checks(session: Any) -> list[Check]:
    """Return the checks that need a session; it is left as it was."""

    def run_two_stages() -> None:
        def first(batches: Any) -> Any:
            import pyarrow as pa

            for batch in batches:
                yield pa.RecordBatch.from_arrays([pa.array([0] * batch.num_rows, pa.int32())], names=["p"])

        def second(batches: Any) -> Any:
            yield from batches

        frame = session.range(0, 1, 1, 1).mapInArrow(first, "p int").repartitionById(1, "p")
        run_plan(pipelined_plan(frame.mapInArrow(second, "p int")))

    def settings() -> None:
        before = change_local_settings(session, {"spark.penstock.trial": "1"})
        _need(change_local_settings(session, before) == {"spark.penstock.trial": "1"}, "way to change a setting")

    def slots() -> None:
        _need(slot_count(session) > 0, "count of slots")

    def stopped() -> None:
        _need(not is_stopped(session), "way to see that a session runs")

    def python() -> None:
        _need(bool(worker_python(session)), "name of the workers' Python")

    return [
        Check("running: two stages with a pipelined exchange", run_two_stages),
        Check("running: settings of the SparkContext", settings),
        Check("running: the number of slots", slots),
        Check("running: whether the SparkContext is stopped", stopped),
        Check("running: the workers' Python", python),
        Check("running: the cancellation of a group of jobs", lambda: cancel_jobs(session, "penstock trial")),
    ]
