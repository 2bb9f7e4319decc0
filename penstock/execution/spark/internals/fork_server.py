"""The process that Spark forks Python workers from, with everything a task needs already imported.

Without it every worker imports Arrow, PySpark's worker and Penstock again: about a second of processor time per task,
and memory that forked processes would share. Spark starts this module instead of ``pyspark.daemon`` where the setting
``spark.python.daemon.module`` says so.
"""

import gc
import importlib
import socket

from pyspark import daemon

__all__: list[str] = []

_PRELOADED = (
    "pyarrow",
    "pandas",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "penstock.execution.spark.worker.stage_main",
)

_serve = daemon.worker


def _serve_quietly(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - called by PySpark
    """Run a worker; where Spark has ended its task, do not print that the last words reach nobody."""
    try:
        return _serve(sock, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    for name in _PRELOADED:
        importlib.import_module(name)
    # What is imported now lives as long as the process: keep the collector from touching (and so copying) it in every
    # worker.
    gc.collect()
    gc.freeze()
    # Records are tuples that come by the thousand and go without cycles: looking through them every 700 allocations, as
    # the collector does by itself, takes a fifth of the time of decoding them.
    gc.set_threshold(50_000, 20, 20)
    daemon.worker = _serve_quietly
    daemon.manager()
