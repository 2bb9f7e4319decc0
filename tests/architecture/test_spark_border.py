"""Spark's private side is touched in one folder, so that a new Spark is one folder's work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import SourceFile, source_files

BORDER = "penstock/execution/spark/internals/"
PUBLIC_MODULES = {"pyspark", "pyspark.errors", "pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types"}
PUBLIC_NAMES = {"SparkConf", "SparkContext", "TaskContext", "errors", "sql"}
"""What is imported from ``pyspark`` itself; everything else there is a module of its inside."""
JVM_NAMES = {"_jvm", "_jsc", "_sc", "_jdf", "_jrdd", "_jconf", "_jseq", "_jmap", "_jsparkSession", "_gateway", "org"}
OURS = {"self", "cls", "super", "os", "sys", "threading", "cloudpickle"}
"""Whose private names are not Spark's: our own objects, and modules of others."""


def test_private_names_of_spark_stay_in_one_folder() -> None:
    outside = [file for file in source_files() if not file.place.startswith(BORDER)]
    assert len(outside) > 100
    found = [f"{file.place}:{line}: {what}" for file in outside for line, what in _uses(file.tree, _knows_spark(file))]
    assert found == [], f"what is no public API of PySpark belongs in {BORDER}"


@pytest.mark.parametrize(
    "text",
    [
        "import py4j",
        "from py4j.protocol import Py4JError",
        "from pyspark import daemon",
        "import pyspark.daemon",
        "from pyspark.java_gateway import launch_gateway",
        "import pyspark.sql.pandas.types",
        "session._jvm",
        "session.sparkContext._jsc.sc()",
        "SparkContext._active_spark_context",
        "frame()._anything",
        "self._session._jsparkSession",
        "getattr(session, '_jvm')",
        "getattr(session, '_anything', None)",
        "jvm.org.apache.spark.api.python.PythonUtils",
        "importlib.import_module('pyspark.worker')",
        "settings['spark.python.daemon.module']",
        "'org.apache.spark.sql.execution'",
    ],
)
def test_every_way_across_the_border_is_found(text: str) -> None:
    assert list(_uses(ast.parse(text), knows_spark=True)) != []


@pytest.mark.parametrize(
    "text",
    [
        "from pyspark import SparkContext, TaskContext",
        "from pyspark.sql import DataFrame, SparkSession",
        "self._session.sparkContext.getConf()",
        "self._attempt = 1",
        "os._exit(1)",
        "session.__class__",
        "settings['spark.master']",
        "'spark.'",
    ],
)
def test_the_public_side_may_be_used(text: str) -> None:
    assert list(_uses(ast.parse(text), knows_spark=True)) == []


def _knows_spark(file: SourceFile) -> bool:
    return file.place.startswith("penstock/execution/")


def _uses(tree: ast.Module, knows_spark: bool) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    if _is_inside(module) or (module == "pyspark" and alias.name not in PUBLIC_NAMES):
                        yield node.lineno, f"{module}.{alias.name}"
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names if _is_inside(alias.name))
            case ast.Attribute(attr=name, value=value):
                if name in JVM_NAMES or (knows_spark and _is_private(name) and _owner(value) not in OURS):
                    yield node.lineno, name
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(str(name)), *_]):
                if name in JVM_NAMES or (knows_spark and _is_private(name)):
                    yield node.lineno, name
            case ast.Constant(value=str(text)):
                if _is_inside(text) or text.startswith("org.apache.spark.") or (knows_spark and _is_secret(text)):
                    yield node.lineno, text


def _is_inside(module: str) -> bool:
    """Tell whether a dotted name is a module that Spark does not promise."""
    top, dot, _ = module.partition(".")
    is_name = all(part.isidentifier() for part in module.split("."))
    return is_name and ((top == "py4j") or (top == "pyspark" and bool(dot) and module not in PUBLIC_MODULES))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _owner(value: ast.expr) -> str:
    match value:
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return name if name not in ("self", "cls") else attribute
        case _:
            return ""


PUBLIC_SETTINGS = {
    "spark.app.name",
    "spark.driver.bindAddress",
    "spark.driver.extraJavaOptions",
    "spark.driver.host",
    "spark.master",
    "spark.pyspark.python",
    "spark.redaction.regex",
    "spark.sql.adaptive.enabled",
    "spark.sql.parquet.outputTimestampType",
    "spark.ui.showConsoleProgress",
}
"""What Spark's configuration page lists, of what is used outside the border."""


def _is_secret(text: str) -> bool:
    """Tell whether a text is a setting of Spark that is not known to be a documented one."""
    parts = text.split(".")
    is_setting = parts[0] == "spark" and len(parts) > 1 and all(part.isidentifier() for part in parts)
    return is_setting and text not in PUBLIC_SETTINGS
