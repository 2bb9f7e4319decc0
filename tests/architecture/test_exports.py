"""`__all__` tells the truth, and the facade holds nothing of its own."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import SourceFile, source_files

NOT_EXPORTED = {"TypeVar", "TypeVarTuple", "ParamSpec", "getLogger"}  # calls whose results are a module's own affair


def _declared(file: SourceFile) -> list[str] | None:
    for node in file.tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "__all__" and node.value is not None:
            return list(ast.literal_eval(node.value))
    return None


def _defined(file: SourceFile) -> set[str]:
    """Public names that the module makes itself."""
    names: set[str] = set()
    for node in _statements(file.tree.body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not _is_private_matter(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return {name for name in names if not name.startswith("_")}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, and classes that depend on a condition."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from (each for each in node.body if isinstance(each, ast.ClassDef))


def _is_private_matter(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in NOT_EXPORTED


def _imported(file: SourceFile) -> set[str]:
    """Public names that the module imports from the package."""
    return {
        alias.asname or alias.name
        for node in file.tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "penstock"
        for alias in node.names
        if not (alias.asname or alias.name).startswith("_")
    }


def _has_own_getattr(file: SourceFile) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in file.tree.body)


WITH_ALL = [file for file in source_files() if _declared(file) is not None]


@pytest.mark.parametrize("file", WITH_ALL, ids=lambda file: file.name)
def test_all_names_what_is_there(file: SourceFile) -> None:
    declared = _declared(file)
    assert declared is not None
    assert len(declared) == len(set(declared))
    module = importlib.import_module(file.name)
    assert [name for name in declared if not hasattr(module, name)] == []


@pytest.mark.parametrize("file", [file for file in WITH_ALL if not _has_own_getattr(file)], ids=lambda file: file.name)
def test_all_equals_the_public_names(file: SourceFile) -> None:
    re_exports = file.is_facade or file.path.name == "__init__.py"
    assert set(_declared(file) or ()) == (_imported(file) | _defined(file) if re_exports else _defined(file))


@pytest.mark.parametrize("file", [file for file in source_files() if file.is_facade], ids=lambda file: file.name)
def test_the_facade_only_re_exports(file: SourceFile) -> None:
    own = [f"{file.place}:{node.lineno}" for node in file.tree.body if not _is_re_export(node)]
    assert own == []


def _is_re_export(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AnnAssign(target=ast.Name(id="__all__")):
            return True
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=table) | ast.AnnAssign(target=ast.Name(id=name), value=table)
        ):
            return name.startswith("_") and _is_literal(table)  # where __getattr__ looks up what it imports
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
            return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in body)
        case _:
            return False


def _is_literal(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value or "")
    except ValueError:
        return False
    return True
