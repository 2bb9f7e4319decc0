"""Every Python block of the README and the documentation runs, and prints what the page says it prints.

A `text` block under the comment `<!-- output -->` is what the Python block before it prints; its lines may come in any
order, because subtasks print side by side. A Python block under `<!-- no-run -->` must not parse: what can run, runs.
A page that says `<!-- servers: kafka -->` runs with such servers, whose addresses are in the environment.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, blocks, pages
from tests.docs.run_page import MARKER

WITH_PYTHON = [
    page
    for page in pages()
    if page.exists() and any(block.language == "python" for block in blocks(page.read_text(encoding="utf-8")))
]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", WITH_PYTHON, ids=_name)
def test_snippets_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    addresses: dict[str, str] = {}
    for name in re.findall(r"^<!-- servers: (.*) -->$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        for server in name.split(", "):
            addresses.update(request.getfixturevalue(f"{server}_server").settings())
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.run_page", page, tmp_path],
        cwd=ROOT,
        env={**os.environ, **addresses, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=570,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = {
        int(line): output.splitlines()
        for line, _, output in (part.partition("\n") for part in done.stdout.split(MARKER)[1:])
    }
    for program, expected in _promised_outputs(page):
        assert sorted(printed[program.line]) == sorted(expected.text.splitlines()), f"{_name(page)}:{expected.line}"


def _promised_outputs(page: Path) -> list[tuple[Block, Block]]:
    found, program = [], None
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            program = block
        elif block.comment == "<!-- output -->":
            assert program is not None, f"{_name(page)}:{block.line} has no program before it"
            found.append((program, block))
    return found


@pytest.mark.parametrize("page", WITH_PYTHON, ids=_name)
def test_only_what_is_not_python_is_not_run(page: Path) -> None:
    python = [block for block in blocks(page.read_text(encoding="utf-8")) if block.language == "python"]
    skipped = [block for block in python if block.comment == "<!-- no-run -->"]
    assert [f"{_name(page)}:{block.line}" for block in skipped if _is_python(block.text)] == []


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
