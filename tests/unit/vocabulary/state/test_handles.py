"""State handles behave like Python's own containers where they look like them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.vocabulary.state.handles import BroadcastState, ListState, MapState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class DictState(MapState[str, int], BroadcastState[str, int]):
    """A map state and a broadcast state over one dict."""

    def __init__(self) -> None:
        self.content: dict[str, int] = {}

    def clear(self) -> None:
        self.content.clear()

    def get(self, key: str) -> int | None:
        return self.content.get(key)

    def put(self, key: str, value: int) -> None:
        self.content[key] = value

    def put_all(self, dict_value: Mapping[str, int]) -> None:
        self.content.update(dict_value)

    def remove(self, key: str) -> None:
        self.content.pop(key, None)

    def contains(self, key: str) -> bool:
        return key in self.content

    def items(self) -> Iterable[tuple[str, int]]:
        return self.content.items()

    def keys(self) -> Iterable[str]:
        return self.content.keys()

    def values(self) -> Iterable[int]:
        return self.content.values()

    def is_empty(self) -> bool:
        return not self.content


class BoxedList(ListState[int]):
    def __init__(self, content: list[int]) -> None:
        self.content = content

    def clear(self) -> None:
        self.content = []

    def get(self) -> Iterable[int]:
        return self.content

    def add(self, value: int) -> None:
        self.content.append(value)

    def add_all(self, values: Iterable[int]) -> None:
        self.content.extend(values)

    def update(self, values: Iterable[int]) -> None:
        self.content = list(values)


def test_a_map_state_can_be_used_like_a_dict() -> None:
    state = DictState()
    state["a"] = 1
    state["b"] = 2
    assert "a" in state
    assert list(state) == ["a", "b"]
    del state["a"]
    assert "a" not in state
    assert state["b"] == 2


def test_a_missing_key_reads_as_none_and_its_removal_is_no_error() -> None:
    state = DictState()
    assert state["missing"] is None
    del state["missing"]
    assert state.is_empty()


def test_a_list_state_can_be_iterated() -> None:
    assert list(BoxedList([3, 1, 2])) == [3, 1, 2]
