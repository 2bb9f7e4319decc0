"""Compares the pattern of a snapshot with that of the program, before half matches go on by the new one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.errors import StateRestoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.cep.automaton import Automaton
    from penstock.runtime.cep.run_store import RunStore

__all__ = ["differences", "pattern_of", "restored_runs"]

_LOG = logging.getLogger("penstock.cep")


def pattern_of(automaton: Automaton) -> dict[str, Any]:
    """Return what a snapshot keeps of a pattern."""
    return {
        "parts": [list(part) for part in automaton.description],
        "states": [state.name for state in automaton.states],
        "window": automaton.window,
        "skip": str(automaton.skip),
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return what has changed from one pattern to another."""
    before, after = dict(old["parts"]), dict(new["parts"])
    found = [f"part {name!r} is gone" for name in before if name not in after]
    found += [f"part {name!r} is new" for name in after if name not in before]
    found += [
        f"part {name!r} was {said!r} and is {after[name]!r}"
        for name, said in before.items()
        if name in after and after[name] != said
    ]
    if not found and list(before) != list(after):
        found.append("the parts are in another order")
    if old["skip"] != new["skip"]:
        found.append(f"after a match it was {old['skip']} and is {new['skip']}")
    return found


def restored_runs(open_store: Callable[[], RunStore], automaton: Automaton, old: dict[str, Any] | None) -> RunStore:
    """Open the store of half matches; say what has changed, and refuse what does not fit.

    Raises:
        StateRestoreError: A half match is in a state that the pattern no longer has.
    """
    new = pattern_of(automaton)
    changes = [] if old is None else differences(old, new)
    try:
        store = open_store()
        if old is not None and not set(old["states"]) <= set(new["states"]):
            store.check()
    except StateRestoreError as error:
        if not changes:
            raise
        problem = f"{error.problem}\n  The pattern differs from that of the snapshot: {'; '.join(changes)}."
        raise StateRestoreError(problem, error.operator, error.state, error.key_group) from None
    if changes:
        _LOG.warning(
            "The pattern differs from that of the snapshot: %s. All half matches are in states that it still has and go"
            " on from there.",
            "; ".join(changes),
        )
    return store
