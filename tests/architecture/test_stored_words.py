"""Words of the plan that stand in checkpoints: who renames what is behind one keeps the word, as checkpoints do."""

from __future__ import annotations

from collections.abc import Iterator

import penstock.graph.cep.steps
import penstock.graph.multi_input_steps  # noqa: F401 - defines steps
from penstock.graph.partitioning import Custom, KeyGroups
from penstock.graph.steps import Step
from penstock.statestore.state_kinds import KINDS
from penstock.vocabulary.settings.modes import CheckpointKind

KEEPING = {"GlobalCommit", "Pattern", "Sink", "Source", "SourceFunction", "Timestamp"}
"""Steps that keep something for themselves; a checkpoint has the word, so that no other kind of step takes it over."""


def kinds(of: type) -> Iterator[str]:
    """The words for all kinds of steps."""
    for kind in of.__subclasses__():
        yield kind.__name__.removesuffix("Step")
        yield from kinds(kind)


def test_steps_that_keep_something_have_the_names_that_checkpoints_know() -> None:
    assert KEEPING - set(kinds(Step)) == set()


def test_ways_of_spreading_have_the_labels_that_checkpoints_know() -> None:
    assert {"HASH", "CUSTOM"} == {KeyGroups(lambda value: value).label, Custom(lambda key, n: 0, lambda value: 0).label}


def test_kinds_of_state_and_of_checkpoints_are_called_as_checkpoints_know_them() -> None:
    assert list(KINDS) == ["value", "list", "map", "reducing", "aggregating"]
    assert {kind.value for kind in CheckpointKind} == {
        "checkpoint", "final checkpoint", "savepoint", "stop-with-savepoint",
    }  # fmt: skip
