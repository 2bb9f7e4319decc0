"""How join and co-group functions are called: for a pair, for two groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.runtime.functions import ListCollector, resolve_function, takes_collector
from penstock.runtime.process import with_collector
from penstock.vocabulary.functions import CoGroupFunction, FlatJoinFunction, JoinFunction

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
    join = resolve_function(function, JoinFunction, "join")
    if takes_collector(join, 2):
        return ListCollector.wrap(join)
    return lambda left, right: (join(left, right),)


def group_call(function: Any, kind: JoinKind | None) -> GroupCall:
    """Resolve what is called for two groups: a co-group function itself, a join function for each pair of them."""
    if kind is None:
        return with_collector(resolve_function(function, CoGroupFunction, "co_group"), 2)
    call = pair_call(function)
    keeps_left, keeps_right = kind.keeps_left, kind.keeps_right

    def join_groups(lefts: list[Any], rights: list[Any]) -> list[Any]:
        if lefts and rights:
            return [result for left in lefts for right in rights for result in call(left, right)]
        results: list[Any] = []
        if keeps_left:
            for left in lefts:
                results.extend(call(left, None))
        if keeps_right:
            for right in rights:
                results.extend(call(None, right))
        return results

    return join_groups
