"""Side output tags are known by their id."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.types import Types


def test_w_57_two_tags_with_one_id_are_one_side_output() -> None:
    first: OutputTag[int] = OutputTag("high", Types.LONG())
    second: OutputTag[int] = OutputTag("high")
    assert first == second
    assert hash(first) == hash(second)
    assert first != OutputTag("low", Types.LONG())


def test_a_tag_survives_pickling() -> None:
    tag: OutputTag[int] = OutputTag("late")
    assert pickle.loads(pickle.dumps(tag)) == tag


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(ProgramError, match="empty"):
        OutputTag("")


def test_an_id_that_is_not_text_is_refused() -> None:
    not_text: Any = 7
    with pytest.raises(TypeError, match="int"):
        OutputTag(not_text)
