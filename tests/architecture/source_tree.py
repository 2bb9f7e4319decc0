"""The package's source files, read and parsed once for all architecture tests."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "penstock"
FACADE = ("cep", "common", "datastream", "metrics")


@dataclass(frozen=True)
class SourceFile:
    """One module of the package."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The dotted name the module is imported by."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def place(self) -> str:
        """The path from the root of the repository, with slashes."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def is_facade(self) -> bool:
        """Whether the module belongs to the mirror of PyFlink's module tree."""
        return self.path.relative_to(PACKAGE).parts[0] in FACADE


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Every module of the package, in order of its path."""
    files = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        files.append(SourceFile(path, text, ast.parse(text, str(path))))
    return tuple(files)
