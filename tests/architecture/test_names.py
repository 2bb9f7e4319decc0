"""Modules are named after a concept, and imports say in full where a name comes from."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from tests.architecture.source_tree import FACADE, PACKAGE, SourceFile, source_files

# Words that tell nothing about what a module is for. PyFlink's own module names, mirrored by the facade, are exempt.
EMPTY_WORDS = {
    "abstract", "base", "common", "default", "handler", "handlers", "helper", "helpers", "impl", "manager", "managers",
    "misc", "util", "utils",
}  # fmt: skip


def test_module_names_have_no_empty_words() -> None:
    found = [
        file.place
        for file in source_files()
        if not file.is_facade
        and EMPTY_WORDS
        & {word for part in file.path.relative_to(PACKAGE).with_suffix("").parts for word in part.split("_")}
    ]
    assert found == []


def test_top_level_modules_are_not_named_like_the_standard_library() -> None:
    top_level = {file.path.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in source_files()}
    assert top_level & sys.stdlib_module_names == set()


def test_imports_are_absolute() -> None:
    found = [
        f"{file.place}:{node.lineno}"
        for file in source_files()
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert found == []


def test_no_module_imports_from_the_package_itself() -> None:
    """`from penstock import Name` inside the package would tie a layer to all the others."""
    found = [
        f"{file.place}:{line}" for file in source_files() if file.name != "penstock" for line in _root_imports(file)
    ]
    assert found == []


def _root_imports(file: SourceFile) -> Iterator[int]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import) and any(alias.name == "penstock" for alias in node.names):
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "penstock":
            allowed = {path.stem for path in PACKAGE.iterdir()} - set(FACADE) | {"__version__"}
            if any(alias.name not in allowed for alias in node.names):
                yield node.lineno
