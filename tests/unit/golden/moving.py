"""Moves modules of Penstock in a copy of the package, and looks whether stored state notices.

``python -m tests.unit.golden.moving DIRECTORY`` makes the copy there and starts itself in it, with ``--moved``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from penstock.statestore.value_codec import load_value, store_value
from penstock.testing import LocalCheckpoint
from tests.unit.golden.archive import FILES, new_run, unpacked
from tests.unit.golden.values import VALUES, described

__all__: list[str] = []

MOVED = {
    "penstock.vocabulary.windows.windows": "penstock.vocabulary.spans",
    "penstock.vocabulary.types.rows": "penstock.foundation.named_fields",
    "penstock.connectors.files.sink.state": "penstock.connectors.kafka.parts",
    "penstock.connectors.two_phase_commit": "penstock.runtime.sinks.two_phases",
    "penstock.connectors.kafka.transaction": "penstock.connectors.transaction_of_kafka",
    "penstock.statestore.value_codec": "penstock.checkpoint.codec_of_values",
    "penstock.statestore.class_schema": "penstock.checkpoint.schema_of_class",
    "penstock.foundation.stored_names": "penstock.statestore.table_of_names",
}
"""Some of everything: public classes, inner ones, those of connectors, and what writes and reads them."""
ROOT = Path(__file__).parents[3]


def _copy(directory: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "penstock", directory / "penstock", ignore=ignored)
    shutil.copytree(ROOT / "tests" / "unit", directory / "tests" / "unit", ignore=ignored)
    for old, new in MOVED.items():
        shutil.move(_file(directory, old), _file(directory, new))
    names = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, MOVED)) + r")(?!\w)")
    here = directory / "tests" / "unit" / "golden" / Path(__file__).name
    for path in directory.rglob("*.py"):
        if path != here:
            text = path.read_text(encoding="utf-8")
            path.write_text(names.sub(lambda found: MOVED[found[0]], text), encoding="utf-8")
    text = here.read_text(encoding="utf-8")
    head, rest = text.split("\nMOVED = ", 1)
    here.write_text(names.sub(lambda found: MOVED[found[0]], head) + "\nMOVED = " + rest, encoding="utf-8")


def _file(directory: Path, module: str) -> Path:
    return directory / f"{module.replace('.', '/')}.py"


def _digest() -> str:
    """What is stored of all values, in short."""
    parts = hashlib.sha256()
    for name, value in sorted(VALUES.items()):
        parts.update(name.encode())
        parts.update(store_value(value))
    return parts.hexdigest()


def _restore(directory: Path) -> None:
    """Runs in the copy."""
    for old in MOVED:
        assert importlib.util.find_spec(old) is None, f"{old} is still there"
    for archive in sorted(FILES.glob("*/windows-*.zip")) + sorted(FILES.glob("*/sinks-savepoint-*.zip")):
        program, form, backend = archive.stem.split("-")
        checkpoint = LocalCheckpoint.load(unpacked(archive, directory / f"{form}-{backend}-{program}"))
        restored = new_run(program, backend, checkpoint).run()
        assert restored.collected["out"], archive
    for file in FILES.glob("*/values/*.bin"):
        assert described(load_value(file.read_bytes())) == described(VALUES[file.stem]), file
    sys.stdout.write("restored\n")
    sys.stdout.write(f"{_digest()}\n")


def _main() -> int:
    directory = Path(sys.argv[-1])
    if "--moved" in sys.argv:
        _restore(directory)
        return 0
    copy = directory / "copy"
    _copy(copy)
    sys.stdout.write("moved\n")
    # The accelerator is built for the package as it is.
    settings = {**os.environ, "PYTHONPATH": str(copy), "PENSTOCK_NATIVE": "off", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.golden.moving", "--moved", str(directory)],
        cwd=copy,
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        said, digest = done.stdout.split()
        sys.stdout.write(f"{said}\n")
        sys.stdout.write("unchanged\n" if digest == _digest() else "changed\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(_main())
