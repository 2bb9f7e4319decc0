"""Objects that pickle has put together get dictionaries of their own, and stay what they were."""

from __future__ import annotations

import dis
import enum
import io
import pickle
import sys
import threading
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, TypeVar

import pytest

from penstock.graph.steps import MapStep
from penstock.runtime.interpreter_tricks.own_attributes import give_own_attributes


class Limit:
    """A function with attributes and a helper."""

    def __init__(self, helper: Any = None) -> None:
        self.least, self.most, self.helper = 1, 5, helper

    def __call__(self, value: int) -> bool:
        return self.least <= value <= self.most


@dataclass(frozen=True)
class Frozen:
    size: int


class Shared:
    """Objects with one dictionary for all of them."""

    common: ClassVar[dict[str, int]] = {"size": 1}

    def __init__(self) -> None:
        self.__dict__ = self.common


class Reduced(Limit):
    """Says itself how it is pickled."""

    def __reduce__(self) -> Any:
        return Reduced, ()


class Ordered(dict[str, Any]):
    """A dictionary of another kind."""


class WithOther:
    def __init__(self) -> None:
        self.__dict__ = Ordered(size=1)


class Slotted:
    __slots__ = ("size",)


class Secretive:
    """Lets nobody see its dictionary."""

    def __getattribute__(self, name: str) -> Any:
        raise AttributeError(name)


class Colour(enum.Enum):
    RED = 1


def came_by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def opcodes_after_use(function: Any) -> set[str]:
    """Returns how the interpreter has come to read attributes in a function that was called often."""
    for value in range(1000):
        function(value)
    code = type(function).__call__
    return {found.opname for found in dis.get_instructions(code, adaptive=True) if "ATTR" in found.opname}


def test_attributes_are_read_the_fast_way() -> None:
    function = came_by_pickle(Limit())
    give_own_attributes(MapStep(function=function))
    # From Python 3.13 on, they are without our doing.
    fast = "LOAD_ATTR_WITH_HINT" if sys.version_info < (3, 13) else "LOAD_ATTR_INSTANCE_VALUE"
    assert opcodes_after_use(function) == {fast}


def test_objects_keep_their_identity_and_content() -> None:
    shared = Frozen(3)
    function = came_by_pickle(Limit([shared, shared]))
    before = dict(vars(function))
    give_own_attributes(MapStep(function=function))
    assert vars(function) == before
    assert function.helper[0] is function.helper[1]
    function.most = 9
    function.new = 1
    assert (function(9), function.new) == (True, 1)


def test_helpers_get_them_too_also_those_that_refuse_changes() -> None:
    frozen = Frozen(3)
    before = id(vars(frozen))
    function = Limit(Limit(frozen))
    give_own_attributes(MapStep(function=function))
    assert function.helper.helper is frozen
    assert vars(frozen) == {"size": 3}
    assert (id(vars(frozen)) != before) == (sys.version_info < (3, 13))
    with pytest.raises(FrozenInstanceError):
        frozen.size = 4  # type: ignore[misc]


def test_objects_that_hold_each_other() -> None:
    one, other = Limit(), Limit()
    one.helper, other.helper = other, one
    give_own_attributes(MapStep(function=one))
    assert one.helper.helper is one


@pytest.mark.parametrize("helper", [Shared(), WithOther(), Reduced()], ids=["shared", "of another kind", "reduced"])
def test_dictionaries_that_are_more_than_that_stay(helper: Any) -> None:
    before = helper.__dict__
    give_own_attributes(MapStep(function=Limit(helper)))
    assert helper.__dict__ is before


@pytest.mark.parametrize(
    "helper",
    [
        io.BytesIO(), TypeVar("T"), Limit, Slotted(), Secretive(), Colour.RED, threading.local(), len, ValueError("no"),
        {"a": 1}, threading,
    ],
)  # fmt: skip
def test_other_things_are_left_alone(helper: Any) -> None:
    before = getattr(helper, "__dict__", None)
    function = Limit(helper)
    give_own_attributes(MapStep(function=function))
    assert function.helper is helper
    assert getattr(helper, "__dict__", None) == before
