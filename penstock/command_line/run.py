"""``penstock run`` and ``penstock info``: job scripts, run or only looked at."""

from __future__ import annotations

import os
import runpy
import sys
from typing import TYPE_CHECKING

from penstock.api.launch import PlanOnly, set_command_line_configuration, set_plan_only
from penstock.pyflink_alias import install_alias
from penstock.vocabulary.settings.configuration import Configuration

if TYPE_CHECKING:
    import argparse

__all__ = ["info", "run"]


def run(options: argparse.Namespace) -> int:
    """Run a job script, here or in a process of its own."""
    if (problem := _problem(options)) is not None:
        sys.stderr.write(f"{problem}\n")
        return 2
    if options.detached:
        from penstock.command_line.detached import run_detached

        return run_detached(options)
    _prepare_driver()
    _run_script(options)
    return 0


def info(options: argparse.Namespace) -> int:
    """Print the plan of the first job that a script executes, without running it."""
    if (problem := _problem(options)) is not None:
        sys.stderr.write(f"{problem}\n")
        return 2
    set_plan_only()
    try:
        _run_script(options)
    except PlanOnly as plan:
        sys.stdout.write(f"{plan}\n")
        return 0
    sys.stderr.write(f"The script {options.script} has executed no job.\n")
    return 1


def _problem(options: argparse.Namespace) -> str | None:
    if not options.script.is_file():
        return f"There is no script {options.script}."
    wrong = [setting for setting in options.settings if "=" not in setting]
    return f"-D needs KEY=VALUE, not {wrong[0]!r}." if wrong else None


def _run_script(options: argparse.Namespace) -> None:
    set_command_line_configuration(_configuration(options))
    install_alias()
    sys.argv = [str(options.script), *options.arguments]
    sys.path.insert(0, str(options.script.resolve().parent))
    runpy.run_path(str(options.script), run_name="__main__")


def _configuration(options: argparse.Namespace) -> Configuration:
    configuration = Configuration()
    for setting in options.settings:
        key, _, value = setting.partition("=")
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
    return configuration


def _prepare_driver() -> None:
    """Let jobs say at their start what they are, and a detached run be told by this process alone that its job runs."""
    from penstock.operations.driver_service import ANNOUNCE_VARIABLE, driver_service

    driver_service().is_introducing = True
    number = os.environ.get(ANNOUNCE_VARIABLE)
    if number is not None and number.isdigit():
        os.set_inheritable(int(number), False)  # noqa: FBT003
