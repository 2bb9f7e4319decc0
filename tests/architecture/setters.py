"""Finds what public setters write and who reads it, from the source alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.architecture.source_tree import SourceFile, source_files

PREFIXES = ("set_", "enable_", "disable_", "with_", "use_", "monitor_", "cleanup_")
"""How the names of methods begin that set something."""
GETTERS = ("get_", "is_", "has_")
ACCESSORS = (*GETTERS, "__eq__", "__hash__", "__repr__", "configure", "_configure")
HOOKS = {"set_clock", "set_runtime_context", "set_row_kind", "set_field_names"}
"""Setters that the engine calls, and those of records: what they are given is no setting."""
DECLARING = ("penstock/vocabulary/", "penstock/api/")
"""Where settings are written down: a function there that hands one on does not use it."""
SETTING = ("penstock/vocabulary/", "penstock/api/", "penstock/connectors/")
GATHERING = {"add", "append", "extend", "insert", "setdefault", "update"}


@dataclass
class Method:
    """A method with what it writes and reads of its object."""

    name: str
    node: ast.FunctionDef
    owner: Class
    writes: set[str] = field(default_factory=set)
    """Attributes of the object."""
    fields: set[str] = field(default_factory=set)
    """Fields of a frozen object that it replaces."""
    calls: set[str] = field(default_factory=set)
    """Other methods of the object."""
    passes_on: set[str] = field(default_factory=set)
    """Setters of other objects."""
    loads: set[str] = field(default_factory=set)
    """All attributes that it reads, of any object."""

    @property
    def place(self) -> str:
        """Where it stands and how it is called."""
        return f"{self.owner.file.place}:{self.owner.name}.{self.name}"


@dataclass
class Class:
    """A class with its methods, by name."""

    name: str
    file: SourceFile
    node: ast.ClassDef
    methods: dict[str, Method] = field(default_factory=dict)
    bases: frozenset[str] = frozenset()
    """The names of the classes it inherits from."""

    @property
    def simple_name(self) -> str:
        """Its name without those of the classes around it."""
        return self.name.rpartition(".")[2]

    @property
    def is_public(self) -> bool:
        """Whether neither it nor a class around it is private."""
        return not any(part.startswith("_") for part in self.name.split("."))


@cache
def classes() -> tuple[Class, ...]:
    """All classes of the package outside the facade."""
    return tuple(
        found for file in source_files() if not file.is_facade for found in _classes_in(file, file.tree.body, "")
    )


def _classes_in(file: SourceFile, body: list[ast.stmt], outer: str) -> Iterator[Class]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = frozenset(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
            found = Class(f"{outer}{node.name}", file, node, bases=bases)
            for statement in node.body:
                if isinstance(statement, ast.FunctionDef):
                    found.methods[statement.name] = _method(statement, found)
            yield found
            yield from _classes_in(file, node.body, f"{found.name}.")


def _method(node: ast.FunctionDef, owner: Class) -> Method:
    method = Method(node.name, node, owner)
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
            method.loads.add(part.attr)
        match part:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                method.writes.add(name)
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self")), attr=name, ctx=ast.Store()):
                method.fields.add(name)
            case ast.Attribute(value=ast.Name(id=owner_name), attr=name, ctx=ast.Store()) if owner_name == owner.name:
                method.writes.add(name)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name), ctx=ast.Store()):
                method.writes.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name), keywords=keywords):
                method.calls.add(name)
                if name in {"_set", "_replace", "_with", "_changed"}:
                    method.fields |= {keyword.arg for keyword in keywords if keyword.arg}
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=owned), attr=name)):
                if name in GATHERING:
                    method.writes.add(owned)
                elif name.startswith(PREFIXES):
                    method.passes_on.add(name)
            case ast.Call(func=ast.Name(id="replace") | ast.Attribute(attr="replace"), keywords=keywords):
                method.fields |= {keyword.arg for keyword in keywords if keyword.arg}
    return method


def setters() -> Iterator[Method]:
    """All public methods that set something."""
    for owner in classes():
        if owner.is_public and owner.file.place.startswith(SETTING):
            for method in owner.methods.values():
                is_static = any(ast.unparse(each) == "staticmethod" for each in method.node.decorator_list)
                if method.name.startswith(PREFIXES) and method.name not in HOOKS and not is_static:
                    yield method


def reader_of(method: Method, seen: frozenset[str] = frozenset()) -> str | None:
    """A place that reads what a setter sets, or None."""
    for name in sorted(method.fields):
        if place := _attribute_reader(name, method.name):
            return place
    for name in sorted(method.writes):
        if place := _own_reader(name, method):
            return place
    for name in sorted((method.calls | method.passes_on) - seen):
        for owner in classes():
            other = owner.methods.get(name)
            if other is not None and other is not method and (place := reader_of(other, seen | {method.name, name})):
                return place
    return None


def _own_reader(attribute: str, setter: Method, *, is_itself_a_reader: bool = False) -> str | None:
    """A method beside the setter, or of a class that inherits it, that reads an attribute and is no mere getter."""
    getters = []
    family = _family(setter.owner)
    for method in (method for owner in family for method in owner.methods.values() if attribute in method.loads):
        if (method is setter and not is_itself_a_reader) or method.name.startswith(PREFIXES):
            continue
        if method.name.startswith(GETTERS):
            getters.append(method.name)
        elif not method.name.startswith(ACCESSORS):
            return method.place
    for getter in getters:
        if place := _attribute_reader(getter, getter):
            return place
    own_files = {owner.file.place for owner in family}
    elsewhere = (place for place, _ in _readers().get(attribute, ()) if place.partition(":")[0] not in own_files)
    return next(elsewhere, None)


def _family(owner: Class) -> list[Class]:
    """A class, those it inherits from and those that inherit from it."""
    simple = owner.simple_name
    return [
        other
        for other in classes()
        if other is owner or simple in other.bases or (other.simple_name in owner.bases and other.simple_name != simple)
    ]


@cache
def _readers() -> dict[str, list[tuple[str, str]]]:
    """For each attribute, the places that load it with the name of the function around them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for file in source_files():
        if file.is_facade:
            continue
        for function in ast.walk(file.tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for part in ast.walk(function):
                    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load):
                        found.setdefault(part.attr, []).append((f"{file.place}:{part.lineno}", function.name))
    return found


def _attribute_reader(attribute: str, by: str, seen: frozenset[str] = frozenset()) -> str | None:
    """A place that loads an attribute in a function that neither sets nor merely returns it."""
    handing_on = set()
    for place, function in _readers().get(attribute, ()):
        if function == by:
            continue
        if not place.startswith(DECLARING) or not function.startswith((*PREFIXES, *ACCESSORS)):
            return place
        if function.startswith(GETTERS):
            handing_on.add(function)
    for function in sorted(handing_on - seen):
        if place_of_getter := _attribute_reader(function, function, seen | {function}):
            return place_of_getter
    return None


def unread_attributes() -> Iterator[str]:
    """Everything that a class of settings keeps, and its fields, that nothing reads."""
    for owner in classes():
        if not owner.file.place.startswith(SETTING):
            continue
        kept = {name: method for method in owner.methods.values() for name in sorted(method.writes)}
        for name, method in kept.items():
            if name.startswith("_") and _own_reader(name, method, is_itself_a_reader=True) is None:
                yield f"{owner.file.place}:{owner.name}.{name}"
        for statement in owner.node.body if _is_dataclass(owner) else ():
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                if name not in _readers():
                    yield f"{owner.file.place}:{owner.name}.{name}"


def _is_dataclass(owner: Class) -> bool:
    return any("dataclass" in ast.unparse(each) for each in owner.node.decorator_list)
