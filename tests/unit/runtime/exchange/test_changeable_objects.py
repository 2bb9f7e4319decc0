"""Objects that look as if nobody could change them any more."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from tests.unit.local_jobs import environment, results


@dataclass(frozen=True)
class Fixed:
    number: int


class MoreThanFixed(Fixed):
    """Is no dataclass itself, so that it may have other attributes."""

    extra: int


class Empty:
    pass


@dataclass(frozen=True, slots=True)
class FixedWithList(Empty):
    numbers: list[int]


class Tagged(str):
    __slots__ = ("tag",)

    tag: int


class Keeping:
    """Emits an object that cannot change, by its looks, and changes it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.more = MoreThanFixed(0)
        self.numbers: list[int] = []
        self.text = Tagged("text")

    def __call__(self, value: int) -> Any:
        self.more.extra = self.text.tag = value
        self.numbers.append(value)
        return {"more": self.more, "list": FixedWithList(self.numbers), "text": self.text}[self.kind]


def test_classes_that_look_as_if_they_could_not_change() -> None:
    def emitted(kind: str) -> list[Any]:
        return results(environment().from_collection([1, 2]).map(Keeping(kind)))

    assert [record.extra for record in emitted("more")] == [1, 2]
    assert [record.numbers for record in emitted("list")] == [[1], [1, 2]]
    assert [record.tag for record in emitted("text")] == [1, 2]


def test_an_object_that_a_function_finds_again_by_a_weak_reference() -> None:
    class Finding:
        last: Any = None

        def __call__(self, value: int) -> Any:
            before = None if self.last is None else self.last()
            if before is not None:
                before.number = "changed"
            made: Any = Empty()
            made.number = value
            self.last = weakref.ref(made)
            return made

    found = results(environment().from_collection([1, 2, 3]).map(Finding()))
    assert [record.number for record in found] == [1, 2, 3]
