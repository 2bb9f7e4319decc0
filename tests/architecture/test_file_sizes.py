"""Modules stay short enough to be read in one go, and functions short enough to be seen at once."""

from __future__ import annotations

import ast

from tests.architecture.source_tree import source_files

LINES_OF_A_FILE = 500
LINES_OF_A_FUNCTION = 60


def test_files_are_short() -> None:
    long = {file.place: lines for file in source_files() if (lines := len(file.text.splitlines())) >= LINES_OF_A_FILE}
    assert long == {}, f"split by concept: a file has fewer than {LINES_OF_A_FILE} lines"


def test_functions_are_short() -> None:
    long = {
        f"{file.place}:{node.lineno} {node.name}": lines
        for file in source_files()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := _lines_without_docstring(node)) >= LINES_OF_A_FUNCTION
    }
    assert long == {}, f"split by step: a function has fewer than {LINES_OF_A_FUNCTION} lines"


def _lines_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is not None:
        docstring = node.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines
