"""Virtual environments of the systems that do not live in this interpreter's own one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent / ".environments"

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "bytewax": ("bytewax==0.21.1",),
    "pyflink": ("apache-flink==2.3.0",),
    "spark": ("pyspark==4.3.0", "pandas<3", "pyarrow", "protobuf"),
}
"""What each environment holds; pyspark's transformWithState needs protobuf, which penstock does not."""

_NEWEST_PYTHON = {"bytewax": (3, 12), "pyflink": (3, 12)}


class EnvironmentFailedError(Exception):
    """A virtual environment could not be made; the message says which and why."""


def interpreter(name: str) -> Path:
    """Returns the interpreter of an environment, making the environment first if it is missing or outdated.

    The empty name stands for the interpreter that runs the benchmark.
    """
    if not name:
        return Path(sys.executable)
    folder = _FOLDER / name
    wanted = "\n".join(REQUIREMENTS[name])
    ready = folder / "ready"
    if not (ready.exists() and ready.read_text() == wanted):
        _refuse_too_new(name)
        _make(name, folder)
        ready.write_text(wanted)
    return folder / "bin" / "python"


def _refuse_too_new(name: str) -> None:
    newest = _NEWEST_PYTHON.get(name)
    if newest and sys.version_info[:2] > newest:
        message = (
            f"{REQUIREMENTS[name][0]} has no build for Python {sys.version_info.major}.{sys.version_info.minor}: "
            f"run the benchmark with Python {newest[0]}.{newest[1]} or older, or leave {name} out with --systems"
        )
        raise EnvironmentFailedError(message)


def _make(name: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _call(name, [sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call(name, [*pip, *REQUIREMENTS[name]])


def _call(name: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        message = f"the virtual environment for {name} could not be made; the last lines were:\n{last}"
        raise EnvironmentFailedError(message)
