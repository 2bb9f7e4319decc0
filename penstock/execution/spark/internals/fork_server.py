"""The process that Spark forks Python workers from, with everything a task needs already imported.

Without it every worker imports Arrow, PySpark's worker and Penstock again: about a second of processor time per task,
and memory that forked processes would share. An executor starts the module that ``spark.python.daemon.module`` names,
instead of ``pyspark.daemon``. Where all processes are on this machine that is this module. The executors of a cluster
need not have Penstock installed: they start a small module that the driver sends along with the package, which they
find in their working directory (:func:`starter`).

- ``spark.python.daemon.module`` (core/.../internal/config/Python.scala): started by ``PythonWorkerFactory.scala`` as
  ``python -m``, in the directory that ``SparkContext.addFile`` brings files to.
- ``pyspark.daemon.manager`` and ``pyspark.daemon.worker`` (python/pyspark/daemon.py): the loop that forks, and what
  the forked process does.
- ``pyspark.worker``, ``pyspark.sql.pandas.serializers`` and ``pyspark.sql.pandas.types``: imported before, nothing
  of them is used here.
"""

from __future__ import annotations

import gc
import importlib
from typing import TYPE_CHECKING

from pyspark import daemon

if TYPE_CHECKING:
    import socket

__all__ = ["PRELOADED", "serve", "starter"]

PRELOADED = (
    "pyarrow",
    "pandas",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "penstock.execution.spark.worker.stage_main",
)

_STARTER = '''\
"""Starts Penstock's fork server from the package that was sent along with this file."""

import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), {archive!r}))

if __name__ == "__main__":
    from penstock.execution.spark.internals.fork_server import serve

    serve()
'''

_serve_worker = daemon.worker


def starter(archive: str) -> str:
    """Return the source of the module that finds Penstock in an archive beside it and serves."""
    return _STARTER.format(archive=archive)


def serve() -> None:
    """Import what tasks need, then fork a worker whenever Spark asks for one."""
    for name in PRELOADED:
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


def _serve_quietly(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - called by PySpark
    """Run a worker; where Spark has ended its task, do not print that the last words reach nobody."""
    try:
        return _serve_worker(sock, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    serve()
