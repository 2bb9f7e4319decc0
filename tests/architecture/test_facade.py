"""Whatever is `pyflink.a.b.Name` is `penstock.a.b.Name`, with the same parameters."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from tests.architecture.source_tree import ROOT
from tests.architecture.surface import (
    CALLABLES,
    MISSING,
    Listed,
    covers,
    different,
    missing,
    not_yet,
    parameter_complaint,
    surface,
)

SHRINK = "run `python -m tests.architecture.surface shrink`"


def test_every_name_of_pyflink_is_there() -> None:
    names = [listed.name for listed in missing()]
    assert [name for name in names if not any(covers(entry, name) for entry in not_yet())] == []


def test_the_list_of_missing_names_only_shrinks() -> None:
    absent = {listed.name for listed in missing()}
    assert sorted(set(not_yet()) - absent) == [], f"these are there, or were never in PyFlink: {SHRINK}"


def test_parameters_are_those_of_pyflink() -> None:
    complaints = {
        listed.name: complaint
        for listed in _present_methods()
        if listed.name not in different() and (complaint := parameter_complaint(listed))
    }
    assert complaints == {}


def test_deliberate_differences_are_still_there() -> None:
    same = [
        listed.name for listed in _present_methods() if listed.name in different() and not parameter_complaint(listed)
    ]
    assert same == [], "take these out of [different] in pyflink_not_yet.toml"


def test_package_exports_are_in_the_top_level_package_too() -> None:
    top = importlib.import_module("penstock")
    exports = [listed for listed in surface() if listed.kind == "export" and listed.find() is not MISSING]
    assert [listed.name for listed in exports if getattr(top, listed.path, MISSING) is not listed.find()] == []


@pytest.mark.parametrize("package", ["penstock.common", "penstock.datastream"])
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = importlib.import_module(package).Nothing


@pytest.mark.parametrize("modules", ["penstock.common, penstock.metrics", "penstock.datastream.functions"])
def test_the_vocabulary_alone_loads_no_api(modules: str) -> None:
    program = f"import sys, {modules}; print('penstock.api' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def _present_methods() -> list[Listed]:
    return [listed for listed in surface() if listed.kind in CALLABLES and listed.find() is not MISSING]
