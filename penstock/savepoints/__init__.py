"""Reads, compares, edits and makes savepoints, without the program and without Spark.

``python -m penstock.savepoints --help`` does the same from a terminal.
"""

from __future__ import annotations

from penstock.savepoints.comparison import Difference, compare_savepoints
from penstock.savepoints.editor import SavepointEditor
from penstock.savepoints.renaming import rename_classes
from penstock.savepoints.rows import StateRow
from penstock.savepoints.savepoint import OperatorSummary, Savepoint, StateSummary, delete_savepoint

__all__ = [
    "Difference",
    "OperatorSummary",
    "Savepoint",
    "SavepointEditor",
    "StateRow",
    "StateSummary",
    "compare_savepoints",
    "delete_savepoint",
    "rename_classes",
]
