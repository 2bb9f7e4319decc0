"""``penstock run -d``: a job in a process of its own, which this one leaves as soon as the job runs."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.operations.driver_service import ANNOUNCE_VARIABLE, LOG_VARIABLE
from penstock.operations.registry import private_directory
from penstock.operations.settings import state_directory

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

__all__ = ["run_arguments", "run_detached"]

_LAST_LINES = 40


def run_detached(options: argparse.Namespace) -> int:
    """Start the script in a session of its own; return when its job runs, or with the error if it does not start."""
    log = _new_log(options.script)
    reading, writing = os.pipe()
    environment = {**os.environ, ANNOUNCE_VARIABLE: str(writing), LOG_VARIABLE: str(log), "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as file, os.fdopen(reading, encoding="utf-8") as announcement:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *run_arguments(options)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            pass_fds=(writing,),
            start_new_session=True,
        )
        os.close(writing)
        try:
            line = announcement.readline()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGINT)
            raise
    if not line:
        code = process.wait()
        ended = f"The script {options.script} ended without a job (exit code {code})"
        sys.stderr.write(f"{_tail(log)}{ended}; all it wrote is in {log}.\n")
        return 1
    job: dict[str, Any] = {**json.loads(line), "process": process.pid, "log": str(log)}
    has_failed = job["state"] in ("FAILED", "CANCELED")
    if has_failed:
        sys.stderr.write(f"{_tail(log)}The job did not start; all it wrote is in {log}.\n")
    _print(job, as_json=options.json)
    return 1 if has_failed else 0


def run_arguments(options: argparse.Namespace) -> list[str]:
    """Return the arguments that run the same script in the same way, but not detached."""
    arguments = ["run"]
    for setting in options.settings:
        arguments += ["-D", setting]
    for name, value in (
        ("-p", options.parallelism),
        ("-m", options.master),
        ("-s", options.restore_path),
        ("-cm", None if options.claim_mode is None else options.claim_mode.name),
        ("-pyfs", options.files),
    ):
        if value is not None:
            arguments += [name, str(value)]
    if options.allow_non_restored_state:
        arguments.append("-n")
    return [*arguments, str(options.script), *options.arguments]


def _print(job: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(f"{json.dumps(job)}\n")
        return
    sys.stdout.write(f"Job has been submitted with JobID {job['id']}\n")
    if job["address"]:
        sys.stderr.write(f"penstock: {job['address']}, log in {job['log']}\n")


def _new_log(script: Path) -> Path:
    directory = state_directory() / "logs"
    try:
        private_directory(str(directory))
        path = directory / f"{script.stem}-{secrets.token_hex(4)}.log"
        path.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        message = f"The log of a detached job cannot be written: {error}. XDG_STATE_HOME names another directory."
        raise PenstockError(message) from error
    return path


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
    return "".join(f"{line}\n" for line in lines)
