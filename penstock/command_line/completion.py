"""Completion in the shell: a few lines for each of them, which ask this program what may follow."""

from __future__ import annotations

import argparse
import sys

from penstock.command_line.parser import JOB

__all__ = ["COMPLETE", "complete", "print_completion"]

COMPLETE = "__complete"
"""The command by which shells ask; the words of the line follow, the unfinished one last."""

_SCRIPTS = {
    "bash": """_penstock() {
    local IFS=$'\\n'
    COMPREPLY=($(penstock __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _penstock penstock
""",
    "zsh": """_penstock() {
    local -a found
    found=(${(f)"$(penstock __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _penstock penstock
""",
    "fish": """complete -c penstock -a '(penstock __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}


def print_completion(options: argparse.Namespace) -> int:
    """Print what a shell has to read."""
    sys.stdout.write(_SCRIPTS[options.shell])
    return 0


def complete(parser: argparse.ArgumentParser, words: list[str]) -> int:
    """Print what may stand at the place of the last word, one per line."""
    *before, unfinished = words or [""]
    commands = _commands(parser)
    if not before:
        candidates = list(commands)
    elif before[0] not in commands:
        candidates = []
    elif unfinished.startswith("-"):
        candidates = [option for action in commands[before[0]]._actions for option in action.option_strings]
    else:
        candidates = _jobs() if any(action.metavar == JOB for action in commands[before[0]]._actions) else []
    sys.stdout.write("".join(f"{each}\n" for each in candidates if each.startswith(unfinished)))
    return 0


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def _jobs() -> list[str]:
    from penstock.command_line.finding import known_jobs
    from penstock.operations.registry import LOST

    entries = known_jobs(argparse.Namespace(address=None, registry=None))
    running = [entry for entry in entries if not entry.has_ended and entry.state != LOST]
    return [*(entry.id for entry in running), *(entry.name for entry in running)]
