"""PyFlink's public surface, as listed in pyflink_surface.txt, held against this package's facade.

`python -m tests.architecture.surface` prints what is missing. With `shrink` as its argument it takes the names that are
there by now out of pyflink_not_yet.toml (a class that is there is replaced by those of its members that are not).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SURFACE = HERE / "pyflink_surface.txt"
NOT_YET = HERE / "pyflink_not_yet.toml"
CALLABLES = ("method", "staticmethod", "classmethod")
MISSING = object()


@dataclass(frozen=True)
class Listed:
    """One name of PyFlink: `module` and `path` as in `common.time` and `Duration.of_days`."""

    kind: str
    module: str
    path: str
    parameters: str = ""

    @property
    def name(self) -> str:
        """The full name below the top-level package."""
        return f"{self.module}.{self.path}"

    def find(self) -> Any:
        """Return the object of that name in this package, or MISSING."""
        try:
            found: Any = importlib.import_module(f"penstock.{self.module}")
            for part in self.path.removesuffix(".__init__").split("."):
                found = getattr(found, part)
        except AttributeError:
            return MISSING
        except ModuleNotFoundError as missing_module:
            if (missing_module.name or "").split(".")[0] != "penstock":
                raise
            return MISSING
        return found


@cache
def surface() -> tuple[Listed, ...]:
    """Every name in pyflink_surface.txt."""
    return tuple(_read(SURFACE.read_text(encoding="utf-8").splitlines()))


def _read(lines: Iterable[str]) -> Iterator[Listed]:
    module, classes = "", [""]
    for line in lines:
        if not line or line.startswith("#"):
            continue
        kind, _, rest = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // 4
        if kind in ("package", "module"):
            module = rest
            continue
        name, _, parameters = rest.partition("(")
        path = ".".join([*classes[1:depth], name])
        if kind == "class":
            classes[depth:] = [name]
        yield Listed(kind, module, path, parameters.removesuffix(")"))


@cache
def not_yet() -> dict[str, str]:
    """The names that are not there, or not all there, each with the reason."""
    return {name: group["reason"] for group in _groups() for name in group["names"]}


@cache
def different() -> dict[str, str]:
    """The methods whose parameters differ from PyFlink's on purpose, each with the reason."""
    return dict(tomllib.loads(NOT_YET.read_text(encoding="utf-8")).get("different", {}))


def _groups() -> list[dict[str, Any]]:
    return list(tomllib.loads(NOT_YET.read_text(encoding="utf-8")).get("group", []))


def covers(entry: str, name: str) -> bool:
    """Whether an entry of pyflink_not_yet.toml stands for a name: the same one, or something around it."""
    return name == entry or name.startswith(entry + ".")


def missing() -> list[Listed]:
    """Every listed name that this package has not."""
    return [listed for listed in surface() if listed.find() is MISSING]


def parameter_complaint(listed: Listed) -> str | None:
    """Say how a method's parameters differ from PyFlink's so that a call made for PyFlink would not do here."""
    owner_path, _, name = listed.path.rpartition(".")
    owner = Listed("class", listed.module, owner_path).find()
    written = inspect.getattr_static(owner, name)
    # A class whose constructor is __new__ (a named tuple, say) is asked as a whole.
    called = owner if name == "__init__" and not inspect.isfunction(written) else getattr(owner, name)
    ours = list(inspect.signature(called).parameters.values())
    if listed.kind == "method" and inspect.isfunction(written):
        ours = ours[1:]
    wanted = _parameters(listed.parameters)
    for position, theirs in enumerate(wanted):
        mine = ours[position] if position < len(ours) else None
        if mine is None or mine.kind != theirs.kind:
            return f"takes ({_text(ours)}), PyFlink's takes ({listed.parameters})"
        if theirs.kind is theirs.POSITIONAL_OR_KEYWORD and mine.name != theirs.name:
            return f"names parameter {position + 1} {mine.name!r}, PyFlink {theirs.name!r}"
        if theirs.default is not theirs.empty and mine.default != theirs.default:
            return f"has {mine} where PyFlink has {theirs}"
    needed = [mine.name for mine in ours[len(wanted) :] if mine.default is mine.empty and mine.kind not in _VARIADIC]
    return f"asks for {needed}, which PyFlink does not have" if needed else None


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _text(parameters: list[inspect.Parameter]) -> str:
    return ", ".join(str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters)


def _parameters(text: str) -> list[inspect.Parameter]:
    arguments = ast.parse(f"def f({text}): ...").body[0].args  # type: ignore[attr-defined]
    kinds = inspect.Parameter
    without = [kinds.empty] * (len(arguments.args) - len(arguments.defaults))
    defaults = without + [ast.literal_eval(default) for default in arguments.defaults]
    found = [
        kinds(argument.arg, kinds.POSITIONAL_OR_KEYWORD, default=default)
        for argument, default in zip(arguments.args, defaults, strict=True)
    ]
    if arguments.vararg:
        found.append(kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL))
    if arguments.kwarg:
        found.append(kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD))
    return found


def shrink() -> None:
    """Rewrite pyflink_not_yet.toml without the names that are there."""
    absent = [listed.name for listed in missing()]
    lines = [line for line in NOT_YET.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    taken: list[str] = []  # by this group or one before it
    for group in _groups():
        names = []
        for name in absent:
            if any(covers(entry, name) for entry in group["names"]) and not any(covers(entry, name) for entry in taken):
                names.append(name)
                taken.append(name)
        if names:
            lines += ["", "[[group]]", f'reason = "{group["reason"]}"', "names = ["]
            lines += [f'    "{name}",' for name in names] + ["]"]
    if different():
        lines += ["", "[different]"] + [f'"{name}" = "{reason}"' for name, reason in different().items()]
    NOT_YET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["shrink"]:
        shrink()
    else:
        print(*(listed.name for listed in missing()), sep="\n")
