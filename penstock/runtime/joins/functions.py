"""How join and co-group functions are called: for a pair, for two groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.functions import ListCollector, resolve_function, takes_collector
from penstock.runtime.interpreter_tricks.handover import handed_over
from penstock.runtime.operators.process import with_collector
from penstock.vocabulary.functions.basic import CoGroupFunction, FlatJoinFunction, JoinFunction

if TYPE_CHECKING:
    from penstock.graph.multi_input_steps import JoinKind

__all__ = ["GroupCall", "PairCall", "group_call", "pair_call"]

PairCall = Callable[[Any, Any], Iterable[Any]]
"""Returns the results for a left and a right record; ``None`` stands for a missing one."""
GroupCall = Callable[[list[Any], list[Any]], Iterable[Any] | None]
"""Returns the results for all left and all right records of a group."""


def pair_call(function: Any) -> PairCall:
    """Resolve a ``JoinFunction``, a ``FlatJoinFunction`` or a callable of two records with one result."""
    if isinstance(function, FlatJoinFunction):
        return function.join_pair
    join = _one_result(function)
    if join is None:
        return ListCollector.wrap(resolve_function(function, JoinFunction, "join"))
    return lambda left, right: (join(left, right),)


def _one_result(function: Any) -> Callable[[Any, Any], Any] | None:
    """Return what gives the one result of a pair; ``None`` where there may be any number of results."""
    if isinstance(function, FlatJoinFunction):
        return None
    join = resolve_function(function, JoinFunction, "join")
    return None if takes_collector(join, 2) else join


def group_call(function: Any, kind: JoinKind | None, *, protects: bool = True) -> GroupCall:
    """Resolve what is called for two groups: a co-group function itself, a join function for each pair of them."""
    if kind is None:
        return with_collector(resolve_function(function, CoGroupFunction, "co_group"), 2)
    call = pair_call(function)
    plain = _one_result(function)
    keeps_left, keeps_right = kind.keeps_left, kind.keeps_right

    # Each result is handed over before the function is called for the next pair: here, or by whoever takes them.
    def join_groups(lefts: list[Any], rights: list[Any]) -> Iterable[Any]:
        if lefts and rights:
            if plain is not None and protects:
                return [handed_over(plain(left, right), right) for left in lefts for right in rights]
            if plain is not None:
                return [plain(left, right) for left in lefts for right in rights]
            return (result for left in lefts for right in rights for result in call(left, right))
        pairs: list[tuple[Any, Any]] = []
        if keeps_left:
            pairs += [(left, None) for left in lefts]
        if keeps_right:
            pairs += [(None, right) for right in rights]
        return (result for left, right in pairs for result in call(left, right))

    return join_groups
