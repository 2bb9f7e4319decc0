"""Side output tags are known by their id."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import ProcessFunction
from penstock.vocabulary.types.catalogue import Types
from tests.unit.local_jobs import environment, results


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


class LateTag(OutputTag):
    """A tag of the program's own kind."""


@pytest.mark.parametrize("asked_for", [LateTag("late"), OutputTag("late")])
def test_a_subclass_is_a_tag_everywhere(asked_for):
    class Splitting(ProcessFunction):
        def process_element(self, value, ctx):
            if value % 2:
                yield LateTag("late"), value
            else:
                ctx.output(LateTag("late"), value)

    env = environment()
    sides = env.from_collection([1, 2]).process(Splitting()).get_side_output(asked_for)
    assert sorted(results(sides)) == [1, 2]
