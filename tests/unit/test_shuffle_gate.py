"""The compiled half of the gate belongs to the sources beside it."""

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
