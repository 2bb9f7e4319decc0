"""Spark's private side is touched in one module, so that a new Spark is one module's work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import SourceFile, source_files

BORDER = "penstock/execution/spark/internals.py"
PRIVATE = {"_gateway", "_jconf", "_jdf", "_jrdd", "_jsc", "_jseq", "_jsparkSession", "_jvm", "_jmap"}


def test_private_names_of_spark_stay_in_one_module() -> None:
    found = [f"{file.place}:{line}" for file in source_files() if file.place != BORDER for line in _private_uses(file)]
    assert found == [], f"private names of Spark belong in {BORDER}"


def _private_uses(file: SourceFile) -> Iterator[int]:
    for node in ast.walk(file.tree):
        match node:
            case ast.Attribute(attr=name) if name in PRIVATE:
                yield node.lineno
            case ast.Constant(value=str(name)) if name in PRIVATE:  # getattr(session, "_jvm")
                yield node.lineno
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "py4j":
                yield node.lineno
            case ast.Import(names=names) if any(alias.name.split(".")[0] == "py4j" for alias in names):
                yield node.lineno
