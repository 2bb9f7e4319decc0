"""The gate that keeps strangers off Spark's servers: what is compiled, and when executors get it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from penstock.execution.spark.internals import shuffle_gate

FOLDER = Path(shuffle_gate.__file__).with_name("gate")


def test_the_jar_was_made_from_the_sources() -> None:
    sources = b"".join(source.read_bytes() for source in sorted(FOLDER.glob("*.java")))
    with zipfile.ZipFile(FOLDER / "gate.jar") as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    assert hashlib.sha256(sources).hexdigest()[:32] in manifest, "run scripts/build-gate"


def test_executors_that_share_a_secret_get_the_gate() -> None:
    settings = {"spark.authenticate": "true", "spark.plugins": "theirs", "spark.master": "yarn"}
    added = shuffle_gate.gate_on_executors(settings)
    assert added == {"spark.plugins": "theirs,penstock.GatePlugin", "spark.jars": str(FOLDER / "gate.jar")}
    with zipfile.ZipFile(FOLDER / "gate.jar") as jar:
        assert "penstock/GatePlugin.class" in jar.namelist()


def test_executors_without_a_secret_do_not() -> None:
    assert shuffle_gate.gate_on_executors({"spark.master": "yarn"}) == {}
