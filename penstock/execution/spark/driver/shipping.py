"""Brings Penstock and the user's modules to the executors, which need nothing installed but PySpark and Arrow."""

from __future__ import annotations

import hashlib
import io
import re
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle

from penstock.execution.spark.internals.fork_server import starter
from penstock.execution.spark.internals.settings import SHIPPED_FORK_SERVER
from penstock.foundation.native import native
from penstock.foundation.private_directory import private_directory

if TYPE_CHECKING:
    from types import ModuleType

    from pyspark import SparkContext

__all__ = ["ship_code", "ship_fork_server"]

_PACKAGE = Path(__file__).resolve().parents[3]
_shipped: set[tuple[str, str]] = set()
"""The application and the digest of what it was sent."""
_packages: dict[str, str] = {}
"""The file that each application has got Penstock in."""


def ship_code(context: SparkContext, python_files: list[str]) -> None:
    """Make Penstock, the user's own modules and the given files importable in the workers of a Spark context."""
    _ship_penstock(context)
    for package in _user_packages():
        _ship_packages(context, package.stem, [package])
    for file in python_files:
        path = Path(file)
        if path.is_dir():
            _ship_packages(context, path.name, [path])
        else:
            context.addPyFile(str(path))


def _ship_accelerator(context: SparkContext) -> None:
    """Send the accelerator to executors on other machines.

    The directory that Spark puts files into is on the search path of its workers. The file's name says for which
    interpreter and platform it was made; Python passes by those for others, and the worker goes without.
    """
    if native is not None and not re.match(r"local(\[|$)", str(context.master)):
        context.addFile(native.__file__)


def ship_fork_server(context: SparkContext) -> None:
    """Send the module that executors of a cluster start to fork workers from, with Penstock itself."""
    module = private_directory("shipped") / f"{SHIPPED_FORK_SERVER}.py"
    module.write_text(starter(_ship_penstock(context)), encoding="utf-8")
    context.addFile(str(module))


def _ship_penstock(context: SparkContext) -> str:
    """Send the package once per application, as it does not change while the program runs; return the file's name."""
    application = str(context.applicationId)
    if application not in _packages:
        _packages[application] = _ship_packages(context, "penstock", [_PACKAGE, Path(cloudpickle.__file__).parent])
        _ship_accelerator(context)
    return _packages[application]


def _ship_packages(context: SparkContext, name: str, sources: list[Path]) -> str:
    content = _zip(sources)
    digest = hashlib.sha256(content).hexdigest()[:16]
    file = f"{name}-{digest}.zip"
    application = str(context.applicationId)
    if (application, digest) not in _shipped:
        _shipped.add((application, digest))
        # Executors fetch the files when their first task starts, so they stay until this process ends.
        path = private_directory("shipped") / file
        path.write_bytes(content)
        context.addPyFile(str(path))
    return file


def _zip(sources: list[Path]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sources:
            files = [source] if source.is_file() else sorted(source.rglob("*.py"))
            for file in files:
                # A fixed date keeps the digest of equal content equal.
                entry = zipfile.ZipInfo(str(file.relative_to(source.parent)), (2020, 1, 1, 0, 0, 0))
                archive.writestr(entry, file.read_bytes())
    return buffer.getvalue()


def _user_packages() -> list[Path]:
    """Return the modules and packages beside the user's script that the program has imported."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is None:
        return []
    directory = Path(script).resolve().parent
    found: set[Path] = set()
    for name, module in list(sys.modules.items()):
        path = _file_of(module)
        if path is None or name == "__main__" or "site-packages" in path.parts or not path.is_relative_to(directory):
            continue
        top = name.partition(".")[0]
        source = directory / top if (directory / top).is_dir() else directory / f"{top}.py"
        if source.exists() and top != "penstock":
            found.add(source)
    return sorted(found)


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if not isinstance(file, str) or not file.endswith(".py") else Path(file).resolve()
