"""The table of the modules that public names live in: ``python -m tests.architecture.public_names_table`` renews it."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator

import penstock
from tests.architecture.source_tree import PACKAGE, SourceFile, source_files

TABLE = PACKAGE / "public_names.py"
PROGRAM_SIDE = ("api", "connectors", "errors", "vocabulary")
"""The packages in which programs find what they are made of."""


def homes() -> dict[str, list[str]]:
    """Return for each module the public names that are made in it."""
    made: dict[str, str] = {}
    for file in source_files():
        if file.path.relative_to(PACKAGE).with_suffix("").parts[0] in PROGRAM_SIDE:
            made |= dict.fromkeys(_made_in(file), file.name)
    found: dict[str, list[str]] = defaultdict(list)
    for name in penstock.__all__:
        found[made[name]].append(name)
    return {module: sorted(found[module]) for module in sorted(found)}


def _made_in(file: SourceFile) -> Iterator[str]:
    """Return the names of a module's ``__all__`` that it does not import."""
    imports = [node for node in file.tree.body if isinstance(node, ast.ImportFrom)]
    imported = {alias.asname or alias.name for node in imports for alias in node.names}
    for name in getattr(importlib.import_module(file.name), "__all__", ()):
        if name not in imported and name in penstock.__all__:
            yield name


def rendered(table: dict[str, list[str]]) -> str:
    """Return the table as it stands in the package."""
    lines = []
    for module, names in table.items():
        parts = textwrap.wrap(" ".join(names), 108)
        if len(parts) == 1 and len(module) + len(parts[0]) < 106:
            lines.append(f'    "{module}": "{parts[0]}",')
        else:
            texts = [f'        "{part} "' for part in parts[:-1]] + [f'        "{parts[-1]}"']
            lines += [f'    "{module}": (', *texts, "    ),"]
    return "HOMES = {\n" + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    text = TABLE.read_text(encoding="utf-8")
    TABLE.write_text(re.sub(r"^HOMES = \{\n.*?^\}\n", lambda _: rendered(homes()), text, flags=re.M | re.S))
