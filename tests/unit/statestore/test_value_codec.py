"""State values as bytes, and classes that change between writing and reading."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import types
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

import cloudpickle
import pytest

from penstock.statestore.value_codec import ClassSchema, ClassTable, ValueReader
from penstock.vocabulary.types.rows import Row


class Colour(Enum):
    RED = 1


@dataclass
class Point:
    x: int
    y: int


def round_trip(value):
    table = ClassTable()
    data = table.dumps(value)
    return ValueReader(table.schemas()).loads(data)


@pytest.mark.parametrize(
    "value",
    [
        None, 0, -1, 1 << 70, 1.5, "", "é水", b"\x00\xff", (1, "a", (2.5, None)), [1, [2]], {"a": {1, 2}},
        Decimal("1.10"), Colour.RED, Point(1, 2), Row(name="a", n=1), int,
    ],
    ids=repr,
)  # fmt: skip
def test_values_come_back(value):
    assert round_trip(value) == value


def test_small_values_stay_small():
    table = ClassTable()
    assert len(table.dumps([7] * 1000)) <= 2 * 1000 + 32
    assert len(table.dumps([Point(1, 2)] * 1 + [Point(n, n) for n in range(1000)])) < 40 * 1000


def test_a_class_is_named_once_for_many_values():
    table = ClassTable()
    first, second = table.dumps(Point(1, 2)), table.dumps(Point(3, 4))
    assert b"Point" not in first + second
    assert [schema.qualname for schema in table.schemas()] == ["Point"]


def test_functions_are_values_too():
    assert round_trip(lambda x: x + 1)(1) == 2


@pytest.fixture
def program():
    """A module whose classes change between writing and reading."""
    module = types.ModuleType("a_program")
    sys.modules["a_program"] = module

    def define(cls):
        cls.__module__ = "a_program"
        cls.__qualname__ = cls.__name__
        setattr(module, cls.__name__, cls)
        return cls

    yield define
    del sys.modules["a_program"]


def rewrite(value, change):
    """Writes a value, changes the program, reads the value; the schemas travel as in a file."""
    table = ClassTable()
    data = table.dumps(value)
    schemas = pickle.loads(pickle.dumps(table.schemas()))
    changed = change()
    return ValueReader(schemas).loads(data), changed


STYLES = [{}, {"frozen": True}, {"slots": True}, {"slots": True, "frozen": True}]


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_an_added_field_of_a_dataclass_gets_its_default(program, style):
    old = program(dataclasses.make_dataclass("User", ["name"], **style))
    added = [("tags", list, field(default_factory=list)), ("age", int, 7)]
    read, new = rewrite(old("ann"), lambda: program(dataclasses.make_dataclass("User", ["name", *added], **style)))
    assert type(read) is new
    assert read == new("ann", [], 7)


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_a_removed_field_of_a_dataclass_is_dropped_and_order_does_not_matter(program, style):
    old = program(dataclasses.make_dataclass("User", ["a", "b", "c"], **style))
    read, new = rewrite(old(1, 2, 3), lambda: program(dataclasses.make_dataclass("User", ["c", "a"], **style)))
    assert type(read) is new
    assert read == new(c=3, a=1)
    assert not hasattr(read, "b")


def test_a_dataclass_that_had_no_fields_gets_some(program):
    old = program(dataclasses.make_dataclass("User", []))
    read, new = rewrite(old(), lambda: program(dataclasses.make_dataclass("User", [("a", int, 1)])))
    assert type(read) is new
    assert read == new(1)


def test_an_added_field_without_a_default_says_so(program):
    old = program(dataclasses.make_dataclass("User", ["a"]))
    with pytest.raises(TypeError, match="'b' of User is new and has no default"):
        rewrite(old(1), lambda: program(dataclasses.make_dataclass("User", ["a", "b"])))


def test_named_tuples_are_matched_by_name(program):
    old = program(namedtuple("Pair", "a b"))
    read, new = rewrite(old(1, 2), lambda: program(namedtuple("Pair", "b c", defaults=[9])))
    assert type(read) is new
    assert read == new(b=2, c=9)


def test_an_added_field_of_a_named_tuple_without_a_default_says_so(program):
    old = program(namedtuple("Pair", "a"))
    with pytest.raises(TypeError, match="'b' of Pair is new and has no default"):
        rewrite(old(1), lambda: program(namedtuple("Pair", "a b")))


def test_a_class_with_its_own_state_looks_after_itself(program):
    def set_state(self, state):
        self.__dict__.update(state, b=state["a"] * 2)

    old = program(dataclasses.make_dataclass("User", ["a"]))
    read, new = rewrite(
        old(4), lambda: program(dataclasses.make_dataclass("User", ["a", "b"], namespace={"__setstate__": set_state}))
    )
    assert read == new(4, 8)


def test_a_class_that_is_gone_is_named(program):
    old = program(dataclasses.make_dataclass("User", ["a"]))

    def remove():
        del sys.modules["a_program"].User

    with pytest.raises(LookupError, match=r"a_program\.User"):
        rewrite(old(1), remove)


WRITE = """
import sys, pickle
from dataclasses import dataclass
from penstock.statestore.value_codec import ClassTable

@dataclass
class Visit:
    page: str

table = ClassTable()
sys.stdout.buffer.write(pickle.dumps((table.dumps(Visit("home")), table.schemas())))
"""


def test_a_class_of_the_main_script_becomes_the_class_that_the_program_brought():
    done = subprocess.run([sys.executable, "-c", WRITE], capture_output=True, check=True)
    data, schemas = pickle.loads(done.stdout)
    assert ValueReader(schemas).loads(data).page == "home", "by its definition, as long as nothing else is known"

    newer = dataclasses.make_dataclass("Visit", ["page", ("seconds", int, 0)])
    newer.__module__ = "__main__"
    brought = cloudpickle.loads(cloudpickle.dumps(newer))
    read = ValueReader(schemas).loads(data)
    assert isinstance(read, brought)
    assert read == brought("home", 0)


def test_a_local_class_is_stored_with_its_definition():
    @dataclass
    class Local:
        a: int

    schema = ClassSchema.of(Local)
    assert schema.definition
    assert not ClassSchema.of(Point).definition
