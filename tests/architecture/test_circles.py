"""No module imports itself by way of others (the few exceptions are in pyproject.toml, each with its reason)."""

from __future__ import annotations

import ast
import tomllib
from functools import cache

import pytest

from tests.architecture.source_tree import ROOT, source_files

EXCEPTIONS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["penstock"][
    "import-circles"
]


@cache
def imports() -> dict[str, frozenset[str]]:
    """What each module imports of the package: at its top, within functions, or for the type checker only."""
    names = {file.name for file in source_files()}
    found: dict[str, set[str]] = {}
    for file in source_files():
        targets = found.setdefault(file.name, set())
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                targets.update(name if name in names else node.module for name in full)
    return {name: frozenset(targets & names) - {name, "penstock"} for name, targets in found.items()}


def a_circle(graph: dict[str, frozenset[str]]) -> list[str]:
    """The modules of one circle, in the order of their imports; none if there is no circle."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        ways = [iter([start])]
        while ways:
            module = next(ways[-1], None)
            if module is None:
                ways.pop()
                if path:
                    done.add(path.pop())
            elif module in path:
                return [*path[path.index(module) :], module]
            elif module not in done:
                path.append(module)
                ways.append(iter(sorted(graph[module])))
    return []


def without(graph: dict[str, frozenset[str]], edges: list[str]) -> dict[str, frozenset[str]]:
    """The graph without some of its edges, each written `importer -> imported`."""
    pairs = {tuple(edge.split(" -> ")) for edge in edges}
    return {name: frozenset(each for each in targets if (name, each) not in pairs) for name, targets in graph.items()}


def test_there_are_no_circles_but_those_with_a_reason() -> None:
    assert a_circle(without(imports(), list(EXCEPTIONS))) == []


@pytest.mark.parametrize("edge", EXCEPTIONS)
def test_every_exception_is_needed(edge: str) -> None:
    importer, imported = edge.split(" -> ")
    assert imported in imports()[importer]
    assert a_circle(without(imports(), [each for each in EXCEPTIONS if each != edge])) != []


def test_the_check_finds_a_circle() -> None:
    graph = {"a": frozenset("b"), "b": frozenset("cd"), "c": frozenset(), "d": frozenset("a")}
    assert a_circle(graph) == ["a", "b", "d", "a"]
    assert a_circle(without(graph, ["d -> a"])) == []
