"""Runs the Python blocks of one Markdown page, top to bottom, in one process.

A name made by one block is there in the next ones, as for a reader who types them in. Before each block a line with the
marker and the block's place is printed, so that the output can be told apart.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.docs.markdown import blocks

MARKER = "=== block at line "


def run(page: Path) -> None:
    """Run the page's Python blocks as one program that is `__main__`."""
    program = sys.modules["__main__"].__dict__
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python" and block.comment != "<!-- no-run -->":
            print(f"{MARKER}{block.line}", flush=True)
            # The empty lines give tracebacks the line numbers of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), program)


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    os.chdir(sys.argv[2])
    run(path)
