"""The commands of ``penstock`` and their options, with Flink's names where Flink has them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import __version__
from penstock.vocabulary.settings.modes import RecoveryClaimMode

if TYPE_CHECKING:
    from typing import Any

__all__ = ["JOB", "make_parser"]

JOB = "JOB"
"""How the argument is named that stands for a job."""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="penstock", description="Flink's DataStream programs in Python, run by Spark."
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    _add_info(commands)
    _add_list(commands)
    _add_savepoint(commands)
    _add_checkpoint(commands)
    _add_cancel(commands)
    _add_stop(commands)
    _add_top(commands)
    doctor = commands.add_parser("doctor", help="show versions and what is missing for a job to run")
    doctor.add_argument(
        "--spark", action="store_true", help="also start a local Spark and try there what Penstock needs of its inside"
    )
    doctor.set_defaults(command=_later("doctor", "doctor"))
    completion = commands.add_parser(
        "completion", help="print what makes a shell complete commands: source <(penstock completion bash)"
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    completion.set_defaults(command=_later("completion", "print_completion"))
    return parser


def _later(module: str, name: str) -> Any:
    """Return a command whose module is imported when it is run: each of them needs much that the others do not."""

    def command(options: argparse.Namespace) -> int:
        from importlib import import_module

        code: int = getattr(import_module(f"penstock.command_line.{module}"), name)(options)
        return code

    return command


def _add_run(commands: Any) -> None:
    run = commands.add_parser(
        "run",
        help="run a job script; scripts written for PyFlink run unchanged",
        description="Run a Python script that builds and executes a job. Imports of pyflink are answered by penstock.",
    )
    _add_program(run)
    run.add_argument(
        "-d",
        "--detached",
        action="store_true",
        help="leave the job alone and print its id as soon as it runs, or the error if it does not start",
    )
    run.add_argument("--json", action="store_true", help="with -d: print what is known of the job as JSON")
    _add_restore_options(run)
    run.set_defaults(command=_later("run", "run"))


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", type=Path, help="the script, for example job.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.add_argument("-p", "--parallelism", type=int, help="parallelism of all steps that do not set their own")
    parser.add_argument("-m", "--master", help="Spark master, for example local[16] or spark://host:7077")
    parser.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a configuration value; repeatable",
    )
    parser.add_argument("-pyfs", "--py-files", dest="files", help="comma-separated modules or zips the workers need")


def _add_restore_options(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "-s",
        "--from-savepoint",
        "--fromSavepoint",
        dest="restore_path",
        metavar="PATH",
        help="start from a savepoint or retained checkpoint: its directory, or the _metadata file in it",
    )
    run.add_argument(
        "-n",
        "--allow-non-restored-state",
        "--allowNonRestoredState",
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


def _add_info(commands: Any) -> None:
    info = commands.add_parser("info", help="print the plan of a job script as JSON, without running the job")
    _add_program(info)
    info.set_defaults(command=_later("run", "info"), restore_path=None, allow_non_restored_state=False, claim_mode=None)


def _add_list(commands: Any) -> None:
    listing = commands.add_parser("list", help="list the jobs that run, and those whose driver is lost")
    listing.add_argument("-r", "--running", action="store_true", help="only those that run or restart")
    listing.add_argument("-s", "--scheduled", action="store_true", help="only those that have not begun to run")
    listing.add_argument("-a", "--all", action="store_true", help="also those that have ended")
    _add_place(listing, json=True)
    listing.set_defaults(command=_later("listing", "list_jobs"))


def _add_savepoint(commands: Any) -> None:
    savepoint = commands.add_parser(
        "savepoint",
        help="take a savepoint of a job, or remove one",
        description="Take a savepoint of a running job, or remove one (-d)."
        " python -m penstock.savepoints lists, shows and compares savepoints.",
    )
    savepoint.add_argument("job", nargs="?", metavar=JOB, help="its id, the beginning of its id, or its name")
    savepoint.add_argument("directory", nargs="?", help="where to; the job's own directory if it is left out")
    savepoint.add_argument(
        "-d", "--dispose", dest="path", metavar="PATH", help="remove the savepoint in this directory"
    )
    _add_trigger_options(savepoint)
    savepoint.set_defaults(command=_later("steering", "savepoint"))


def _add_checkpoint(commands: Any) -> None:
    checkpoint = commands.add_parser("checkpoint", help="take a checkpoint of a job now")
    _add_job(checkpoint)
    checkpoint.add_argument("-full", "--full", action="store_true", help="one that shares no file with earlier ones")
    _add_trigger_options(checkpoint)
    checkpoint.set_defaults(command=_later("steering", "checkpoint"))


def _add_cancel(commands: Any) -> None:
    cancel = commands.add_parser("cancel", help="cancel a job, with or without a savepoint")
    cancel.add_argument("job", nargs="?", metavar=JOB, help="its id, the beginning of its id, or its name")
    cancel.add_argument(
        "-s",
        "--with-savepoint",
        "--withSavepoint",
        dest="savepoint",
        nargs="?",
        const="",
        metavar="DIRECTORY",
        help="take a savepoint first; in the job's own directory if none is named",
    )
    _add_place(cancel, json=True)
    cancel.set_defaults(command=_later("steering", "cancel"))


def _add_stop(commands: Any) -> None:
    stop = commands.add_parser("stop", help="end a job with a savepoint behind which no record follows")
    _add_job(stop)
    stop.add_argument(
        "-p", "--savepoint-path", "--savepointPath", dest="directory", metavar="DIRECTORY", help="where to"
    )
    stop.add_argument(
        "-d",
        "--drain",
        action="store_true",
        help="let all windows and timers fire first: for a job that is not to go on",
    )
    _add_trigger_options(stop)
    stop.set_defaults(command=_later("steering", "stop"))


def _add_top(commands: Any) -> None:
    top = commands.add_parser("top", help="watch the steps of a job: records, rates, watermarks")
    _add_job(top)
    top.add_argument("-i", "--interval", type=float, default=2.0, metavar="SECONDS", help="between two looks")
    top.add_argument("-1", "--once", action="store_true", help="look once")
    _add_place(top, json=True)
    top.set_defaults(command=_later("top", "top"))


def _add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar=JOB, help="its id, the beginning of its id, or its name")


def _add_trigger_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-detached",
        "--detached",
        action="store_true",
        help="do not wait: print the id under which REST tells the outcome",
    )
    _add_place(parser, json=True)


def _add_place(parser: argparse.ArgumentParser, *, json: bool) -> None:
    parser.add_argument(
        "-m",
        "--jobmanager",
        dest="address",
        metavar="HOST:PORT",
        help="ask this driver, instead of looking into the registry of jobs",
    )
    parser.add_argument("--token-file", metavar="FILE", help="the file with the token of the driver")
    parser.add_argument("--registry", metavar="DIRECTORY", help="the registry of jobs (penstock.registry.dir)")
    if json:
        parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
