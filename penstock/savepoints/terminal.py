"""The command ``python -m penstock.savepoints``: lists, shows, compares and deletes savepoints."""

from __future__ import annotations

import argparse
import itertools
import json
import sys

from penstock.errors import PenstockError, ProgramError
from penstock.savepoints.comparison import compare_savepoints
from penstock.savepoints.renaming import rename_classes
from penstock.savepoints.savepoint import Savepoint, delete_savepoint

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except BrokenPipeError:  # whoever reads has seen enough
        sys.stderr.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m penstock.savepoints",
        description="Look into savepoints and retained checkpoints, without the program that took them.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listed = commands.add_parser("list", help="show the operators of a savepoint and what state they have")
    listed.add_argument("path", help="the directory of a savepoint or checkpoint, or its _metadata file")
    listed.set_defaults(command=_list)

    shown = commands.add_parser("show", help="print state as lines of JSON")
    shown.add_argument("path", help="the directory of a savepoint or checkpoint, or its _metadata file")
    shown.add_argument("-o", "--operator", help="only this operator (its uid)")
    shown.add_argument("-s", "--state", help="only this state")
    shown.add_argument("-l", "--limit", type=int, help="at most so many lines")
    _add_unpickle(shown)
    shown.set_defaults(command=_show)

    compared = commands.add_parser("diff", help="show what is different between two savepoints")
    compared.add_argument("path", help="the first savepoint")
    compared.add_argument("other", help="the second savepoint")
    _add_unpickle(compared)
    compared.set_defaults(command=_diff)

    renamed = commands.add_parser("rename", help="write a copy in which classes have other names")
    renamed.add_argument("path", help="the savepoint")
    renamed.add_argument("directory", help="where the copy goes; a new directory is made in it")
    renamed.add_argument("names", nargs="+", metavar="OLD=NEW", help="a class or a module, and what it is called now")
    renamed.set_defaults(command=_rename)

    deleted = commands.add_parser("delete", help="remove a savepoint")
    deleted.add_argument("path", help="the directory of the savepoint")
    deleted.set_defaults(command=lambda options: delete_savepoint(options.path))
    return parser


def _add_unpickle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unpickle",
        action="store_true",
        help="make objects of the program's classes, which runs code of the savepoint: only for one that you trust",
    )


def _list(options: argparse.Namespace) -> None:
    savepoint = Savepoint.load(options.path)
    metadata = savepoint.metadata
    _write(f"{metadata.kind.value} {metadata.checkpoint_id} of job {metadata.job_id}, {metadata.size} bytes of state")
    for operator in savepoint.operators():
        _write(
            f"{operator.operator}: {operator.name!r}, parallelism {operator.parallelism} of at most"
            f" {operator.max_parallelism}, {operator.size} bytes"
        )
        for state in operator.states:
            _write(f"    {state.name} ({state.kind}): {state.rows}")


def _show(options: argparse.Namespace) -> None:
    lines = Savepoint.load(options.path, unpickle=options.unpickle).json_lines(
        operator=options.operator, state=options.state
    )
    for line in itertools.islice(lines, options.limit):
        _write(line)


def _diff(options: argparse.Namespace) -> None:
    before, after = (Savepoint.load(path, unpickle=options.unpickle) for path in (options.path, options.other))
    for found in compare_savepoints(before, after):
        sign = {"added": "+", "removed": "-", "changed": "~"}[found.change]
        place = f"{found.operator} {found.state} {_text(found.key)}"
        if found.namespace is not None:
            place += f" {_text(found.namespace)}"
        values = {"added": _text(found.after), "removed": _text(found.before)}.get(
            found.change, f"{_text(found.before)} -> {_text(found.after)}"
        )
        _write(f"{sign} {place}: {values}")


def _rename(options: argparse.Namespace) -> None:
    pairs = [each.split("=") for each in options.names]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        message = f"{' '.join(options.names)}: write OLD=NEW."
        raise ProgramError(message)
    _write(rename_classes(options.path, options.directory, dict(pairs)))


def _text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
