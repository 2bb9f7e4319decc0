"""Modules stay short enough to be read in one go, functions to be seen at once, folders to be looked over."""

from __future__ import annotations

import ast
from collections import Counter

from tests.architecture.source_tree import source_files

LINES_OF_A_FILE = 500
LINES_OF_A_FUNCTION = 60
LINES_OF_A_THOUGHT = 40
MODULES_OF_A_FOLDER = 20

REASONS_TO_BE_SMALL = {
    "penstock/__main__.py": "python -m penstock",
    "penstock/savepoints/__main__.py": "python -m penstock.savepoints",
    "penstock/checkpoint/options.py": "it travels with every barrier: both ends need it and nothing else",
    "penstock/connectors/address.py": "all connectors with a URL share it",
    "penstock/connectors/files/sink/settings.py": "builder and writer share it, and do not import each other",
    "penstock/execution/spark/driver/results.py": "streaming and batch jobs share it",
    "penstock/execution/spark/internals/errors.py": "one thing that Spark has no public name for",
    "penstock/execution/spark/internals/version.py": "one thing to look at when a new Spark comes",
    "penstock/runtime/checkpoint/awaiting_completion.py": "sources and sinks share it",
    "penstock/runtime/exchange/key_functions.py": "operators and the interpreter's tricks share it",
    "penstock/runtime/time/watermark_alignment.py": "it runs on the driver, unlike its neighbours",
    "penstock/statestore/state_defaults.py": "both state backends share it",
    "penstock/testing/built_job.py": "local runs of both modes share it",
    "penstock/testing/harness_options.py": "a type that all harnesses share",
    "penstock/vocabulary/functions/batch.py": "one kind of function a module",
}


def test_files_are_short() -> None:
    long = {file.place: lines for file in source_files() if (lines := len(file.text.splitlines())) >= LINES_OF_A_FILE}
    assert long == {}, f"split by concept: a file has fewer than {LINES_OF_A_FILE} lines"


def test_what_is_one_thought_is_one_file() -> None:
    """A module of a few lines makes a reader open two files; those that are right to be small say why here."""
    small = {
        file.place
        for file in source_files()
        if len(file.text.splitlines()) < LINES_OF_A_THOUGHT and not file.is_facade and file.path.stem != "__init__"
    }
    assert small - set(REASONS_TO_BE_SMALL) == set(), "merge it with its neighbour, or say why not"
    assert set(REASONS_TO_BE_SMALL) - {file.place for file in source_files()} == set()


def test_folders_can_be_looked_over() -> None:
    modules = Counter(
        file.path.parent for file in source_files() if file.path.stem != "__init__" and not file.is_facade
    )
    full = {str(folder): count for folder, count in modules.items() if count > MODULES_OF_A_FOLDER}
    assert full == {}, f"divide it by subject: a folder has at most {MODULES_OF_A_FOLDER} modules"


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
