"""The page for contributors names the folders and modules that there are."""

from __future__ import annotations

import re

import pytest

from tests.architecture.source_tree import FACADE, PACKAGE, ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TREE, WALKS = PAGE.split("### The tree")[1].split("### Two walks")
STEPS = re.compile(r"^[0-9]+\. ", re.MULTILINE)


def folders_on_the_page() -> set[str]:
    """All folders that the tree names, as paths below the package."""
    found: set[str] = set()
    above: list[tuple[int, str]] = []
    for line in TREE.split("```")[1].splitlines():
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        below = above[-1][1] if above else ""
        names = re.findall(r"(?<![\w/])([a-z_]+(?:/[a-z_]+)*)/(?=\s|$)", line)
        for name in names:
            if name != "penstock":
                found.add(below + name)
        if names:
            above.append((indent, "" if names[0] == "penstock" else f"{below}{names[0]}/"))
    return found


def test_the_tree_is_the_packages_own() -> None:
    there = {
        path.parent.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("__init__.py")
        if path.parent != PACKAGE and path.parent.relative_to(PACKAGE).parts[0] not in FACADE
    }
    parents = {"execution", "connectors/files"}  # named by what is in them
    assert folders_on_the_page() | parents == there


@pytest.mark.parametrize("walk", re.split(r"^\*\*", WALKS, flags=re.MULTILINE)[1:])
def test_a_walk_names_modules_that_exist_each_once(walk: str) -> None:
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", walk)
    assert len(STEPS.findall(walk)) > 10
    assert [name for name in named if not (PACKAGE / f"{name}.py").is_file()] == []
    assert sorted(named) == sorted(set(named))
