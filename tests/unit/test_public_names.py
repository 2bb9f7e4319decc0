"""The top-level package has every public name of the facade, and gives it when asked."""

from __future__ import annotations

import importlib
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import penstock

FACADE = ("penstock.cep", "penstock.common", "penstock.datastream", "penstock.metrics")


def _modules() -> Iterator[ModuleType]:
    yield importlib.import_module("penstock.errors")
    for name in FACADE:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield importlib.import_module(found.name)


def test_every_name_of_the_facade_is_in_the_top_level_package() -> None:
    missing = [
        f"{module.__name__}.{name}"
        for module in _modules()
        for name in getattr(module, "__all__", ())
        if getattr(penstock, name, None) is not getattr(module, name)
    ]
    assert missing == []


def test_nothing_else_is_in_the_top_level_package() -> None:
    exported = {name for module in _modules() for name in getattr(module, "__all__", ())}
    assert set(penstock.__all__) == exported


def test_the_names_are_listed_before_they_are_imported() -> None:
    assert set(penstock.__all__) <= set(dir(penstock))


def test_an_unknown_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'penstock' has no attribute 'Nothing'"):
        penstock.Nothing  # noqa: B018


def test_the_version_is_that_of_the_distribution() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert penstock.__version__ == project["version"]
