"""Lets PyFlink scripts run unchanged: ``import pyflink.a.b`` gives ``penstock.a.b``."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

__all__ = ["install_alias", "is_alias_installed"]

_ALIAS = "pyflink"
_TARGET = "penstock"


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of ``pyflink`` with the module of the same path in ``penstock``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ALIAS and not fullname.startswith(f"{_ALIAS}."):
            return None
        name = _TARGET + fullname[len(_ALIAS) :]
        if importlib.util.find_spec(name) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        # The very module, not a copy: a class must be the same one under both names.
        return importlib.import_module(_TARGET + spec.name[len(_ALIAS) :])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has been executed under its own name."""


_finder = _AliasFinder()


def install_alias() -> None:
    """Answer imports of ``pyflink`` with ``penstock`` from now on, even if PyFlink is installed."""
    if not is_alias_installed():
        sys.meta_path.insert(0, _finder)


def is_alias_installed() -> bool:
    """Tell whether imports of ``pyflink`` are answered with ``penstock``."""
    return _finder in sys.meta_path
