"""The entry of the command ``penstock``: its exit codes."""

from __future__ import annotations

import sys

from penstock.command_line.completion import COMPLETE, complete
from penstock.command_line.parser import make_parser
from penstock.errors import PenstockError

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done; 1: it failed; 2: wrong use; 3: there is no such job, or there are several; 4: its driver does not answer;
    130: Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else arguments
    parser = make_parser()
    if given[:1] == [COMPLETE]:
        return complete(parser, given[1:])
    options = parser.parse_args(given)
    try:
        code: int = options.command(options)
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return _exit_code(error)
    except KeyboardInterrupt:
        sys.stderr.write("cancelled\n")
        return 130
    except BrokenPipeError:
        return 0  # who reads the output has seen enough
    return code


def _exit_code(error: PenstockError) -> int:
    from penstock.command_line.finding import NoSuchJobError
    from penstock.operations.rest_client import UnreachableError

    return 3 if isinstance(error, NoSuchJobError) else 4 if isinstance(error, UnreachableError) else 1
