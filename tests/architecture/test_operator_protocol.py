"""Optional parts of an operator are in its protocol, with a default: nobody asks whether they are there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import source_files

PLACES = ("penstock/runtime/", "penstock/execution/", "penstock/testing/", "penstock/checkpoint/")
OURS = {"self", "operator", "head", "step", "sink", "source", "writer", "subtask", "task", "chain", "context"}
"""What objects of the runtime are called; their classes say what they have."""


def test_nobody_asks_whether_an_object_of_the_runtime_has_an_attribute() -> None:
    files = [file for file in source_files() if file.place.startswith(PLACES)]
    assert len(files) > 50
    found = [f"{file.place}:{line}" for file in files for line in _questions(file.tree)]
    assert found == [], "give the class a default instead"


@pytest.mark.parametrize(
    "text",
    ["getattr(operator, 'timers', None)", "hasattr(self, 'engine')", "getattr(chain.head, '_error', None)"],
)
def test_such_a_question_is_found(text: str) -> None:
    assert list(_questions(ast.parse(text))) == [1]


def test_other_objects_may_be_asked() -> None:
    assert list(_questions(ast.parse("getattr(function, '__code__', None); getattr(self, name)"))) == []


def _questions(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, _, _]):
                pass
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, _]):
                pass
            case _:
                continue
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        if name.lstrip("_") in OURS:
            yield node.lineno
