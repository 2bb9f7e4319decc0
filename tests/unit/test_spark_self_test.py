"""The self-test of ``penstock doctor``: each thing used of Spark's inside is tried, and its absence is found."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest
from pyspark import SparkContext, daemon, java_gateway
from pyspark.sql import DataFrame

from penstock.command_line import main
from penstock.execution.spark.internals import errors, self_test, settings, version
from penstock.execution.spark.internals.class_files import ClassFile, parse_class
from penstock.execution.spark.internals.self_test import BORDER_CHECKS, Check, Outcome, run_checks

ROOT = Path(__file__).parents[2]


def test_nothing_is_missing_in_the_spark_that_is_installed() -> None:
    assert [outcome for outcome in run_checks(BORDER_CHECKS) if outcome.problem is not None] == []


def _no_methods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(self_test, "find_class", lambda *_: ClassFile(frozenset(), frozenset()))


def _one_field_more(patch: pytest.MonkeyPatch) -> None:
    real = self_test.find_class

    def changed(jar: str, name: str) -> ClassFile:
        found = real(jar, name)
        methods = {
            (method, kind.replace(";Z)", ";ZZ)") if method == "copy" else kind) for method, kind in found.methods
        }
        return ClassFile(frozenset(methods), found.texts)

    patch.setattr(self_test, "find_class", changed)


def _other_worker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(daemon, "worker", lambda connection: 0)


BREAKS: list[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("the version of Spark", lambda patch: patch.setattr(version, "SPARK_VERSION", "4.4")),
    ("errors of PySpark and py4j", lambda patch: patch.setattr(errors, "SPARK_ERRORS", (object,))),
    ("the start of the JVM", lambda patch: patch.delattr(SparkContext, "_active_spark_context")),
    ("the start of the JVM", lambda patch: patch.setattr(java_gateway, "launch_gateway", lambda conf: None)),
    ("the fork server in the place of pyspark.daemon", _other_worker),
    ("the fork server in the place of pyspark.daemon", _no_methods),
    ("the copy of a plan with pipelined exchanges", _one_field_more),
    ("repartitionById and mapInArrow", lambda patch: patch.delattr(DataFrame, "repartitionById")),
    ("slots, settings and cancellation of the SparkContext", _no_methods),
    (
        "settings of the pipelined shuffle and of Python workers",
        lambda patch: patch.setitem(settings.CORE_SETTINGS, "spark.shuffle.streaming.new", "1"),
    ),
    ("the gate in front of the shuffle's servers", _no_methods),
]


@pytest.mark.parametrize(("name", "break_it"), BREAKS)
def test_each_check_finds_what_it_looks_for(
    name: str, break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    problems = {outcome.name: outcome.problem for outcome in run_checks(BORDER_CHECKS)}
    assert problems[name] is not None


def test_each_check_is_broken_once_above_and_described_on_the_page() -> None:
    names = [check.name for check in BORDER_CHECKS]
    assert list(dict.fromkeys(name for name, _ in BREAKS)) == names
    page = (ROOT / "docs/design/spark-upgrade.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert rows[1:] == names


def test_a_check_that_raises_does_not_keep_the_others_from_running() -> None:
    def fail() -> None:
        raise KeyError("gone")

    outcomes = run_checks([Check("first", fail), Check("second", lambda: None)])
    assert outcomes == [Outcome("first", "KeyError: 'gone'"), Outcome("second", None)]


def test_doctor_shows_each_check_and_fails_where_one_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(version, "SPARK_VERSION", "4.4")
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        f"MISSING Spark, the version of Spark: ClusterError: Penstock needs Spark 4.4, whose pipelined shuffle it runs"
        f" on; this is Spark {pyspark.__version__}. Install it with: pip install 'pyspark==4.4.*'" in lines
    )
    assert "ok      Spark, the start of the JVM: as expected" in lines


def test_a_class_file_is_read_by_the_specification() -> None:
    texts = [b"run", b"(I)V", b"field", b"J", b"Code", b"a text"]
    pool = b"".join(b"\x01" + struct.pack(">H", len(text)) + text for text in texts)
    pool += b"\x05" + bytes(8)  # a long takes two entries
    pool += b"\x08" + struct.pack(">H", 6)  # a string, by its text
    count = 1 + len(texts) + 2 + 1
    attribute = struct.pack(">HI", 5, 3) + b"abc"
    field = struct.pack(">HHHH", 0, 3, 4, 1) + attribute
    method = struct.pack(">HHHH", 1, 1, 2, 2) + attribute * 2
    content = struct.pack(">IHHH", 0xCAFEBABE, 0, 61, count) + pool + struct.pack(">HHHHH", 0, 0, 0, 1, 0)
    content += struct.pack(">H", 1) + field + struct.pack(">H", 1) + method
    found = parse_class(content)
    assert found.methods == {("run", "(I)V")}
    assert "a text" in found.texts
