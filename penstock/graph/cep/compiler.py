"""From a pattern to its automaton.

Parts are compiled from the last to the first: each leads into what was made of the parts behind it. The names of states
are those of their parts, numbered where a part needs several (``a``, ``a:0``, ``a:1``); half matches in a snapshot
refer to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import MalformedPatternException
from penstock.graph.cep.atoms import Atoms
from penstock.graph.cep.automaton import Action, Automaton, Edge, State, StateKind, conjunction, negation
from penstock.graph.cep.description import describe
from penstock.graph.cep.pattern_checks import END, check_names, check_skip_strategy, window_of
from penstock.vocabulary.cep.pattern import GroupPattern
from penstock.vocabulary.cep.quantifier import ConsumingStrategy, WithinType

if TYPE_CHECKING:
    from penstock.graph.cep.automaton import Expression
    from penstock.vocabulary.cep.pattern import Pattern
    from penstock.vocabulary.cep.quantifier import Times

__all__ = ["compile_pattern"]


def compile_pattern(pattern: Pattern[Any]) -> Automaton:
    """Return the automaton of a pattern.

    Raises:
        MalformedPatternException: The pattern as a whole contradicts itself.
    """
    check_names(pattern)
    check_skip_strategy(pattern)
    return _Compiler(pattern).compile()


class _Draft:
    """A state that is being made."""

    def __init__(self, name: str, part: str, kind: StateKind) -> None:
        self.name = name
        self.part = part
        self.kind = kind
        self.window = 0
        self.edges: list[tuple[Action, _Draft, Expression]] = []

    def add(self, action: Action, target: _Draft, condition: Expression) -> None:
        self.edges.append((action, target, condition))

    def add_all_of(self, other: _Draft) -> None:
        """Take the edges of another state; those that led back to it lead back to this one."""
        for action, target, condition in other.edges:
            self.add(action, self if target is other else target, condition)


class _Compiler:
    def __init__(self, pattern: Pattern[Any]) -> None:
        self._last = pattern
        self._part = pattern
        self._following: Pattern[Any] | None = None
        self._group: GroupPattern[Any] | None = None
        self._is_first_round: dict[int, bool] = {}
        """By group: whether its first round is being made, to which the contiguity of the call belongs."""
        self._window = window_of(pattern)
        self._atoms = Atoms()
        self._drafts: list[_Draft] = []
        self._names: set[str] = set()
        self._stops: dict[str, _Draft] = {}
        self._before_greedy: dict[str, _Draft] = {}
        """By name: copies of states from before a greedy loop in front of them changed their edges."""

    def compile(self) -> Automaton:
        end = self._draft(END, StateKind.FINAL)
        start = self._convert(self._middle(end))
        start.kind = StateKind.START
        self._check_windows()
        numbers = {id(draft): number for number, draft in enumerate(self._drafts)}
        states = tuple(
            State(
                draft.name,
                draft.part,
                draft.kind,
                tuple(Edge(action, numbers[id(to)], when) for action, to, when in draft.edges if when is not False),
                draft.window,
            )
            for draft in self._drafts
        )
        skip = self._last.get_after_match_skip_strategy()
        description = describe(self._last)
        return Automaton(states, numbers[id(start)], tuple(self._atoms.found), self._window, skip, description)

    def _check_windows(self) -> None:
        longest = max((draft.window for draft in self._drafts), default=0)
        if 0 < self._window < longest:
            message = (
                f"A bound of {longest} ms between an event and the one before it is longer than that of {self._window}"
                " ms between the first event and the last."
            )
            raise MalformedPatternException(message, self._last.location)

    def _middle(self, sink: _Draft) -> _Draft:
        """Make the states of all parts but the first, from the last to the second."""
        while (previous := self._part.get_previous()) is not None:
            strategy = self._part.get_quantifier().get_consuming_strategy()
            if strategy is ConsumingStrategy.NOT_FOLLOW:
                # In the middle it is nothing but edges of the states around it.
                sink = self._pending(sink) if sink.kind is StateKind.FINAL else sink
            elif strategy is ConsumingStrategy.NOT_NEXT:
                sink = self._not_next(sink)
            else:
                sink = self._convert(sink)
            self._following = self._part
            self._part = previous
        return sink

    def _pending(self, end: _Draft) -> _Draft:
        gap = self._part._windows.get(WithinType.PREVIOUS_AND_CURRENT)
        if not gap and self._window <= 0:
            message = (
                f"The pattern ends with not_followed_by({self._part.get_name()!r}), which can hold only when a time is"
                " over: add within()."
            )
            raise MalformedPatternException(message, self._part.location)
        state = self._state(StateKind.PENDING, is_windowed=True)
        condition = self._take_condition(self._part)
        state.add(Action.PROCEED, self._stop(self._part), condition)
        state.add(Action.IGNORE, state, negation(condition))
        return state

    def _not_next(self, sink: _Draft) -> _Draft:
        state = self._state(StateKind.NORMAL, is_windowed=True)
        condition = self._take_condition(self._part)
        # At the end an event has to come, so that the way to the final state is not free.
        action = Action.IGNORE if sink.kind is StateKind.FINAL else Action.PROCEED
        state.add(action, sink, negation(condition))
        state.add(Action.PROCEED, self._stop(self._part), condition)
        return state

    def _convert(self, sink: _Draft) -> _Draft:
        quantifier, times = self._part.get_quantifier(), self._part.get_times()
        if times is None:
            first = self._single(
                sink,
                sink,
                self._take_condition(self._part),
                self._ignore_condition(self._part, is_inner=False),
                is_optional=quantifier.is_optional,
            )
        elif quantifier.is_looping:
            self._mark_round(is_first=False)
            looping = self._looping(self._without_earlier_nots(sink))
            self._mark_round(is_first=True)
            first = self._repeated(looping, sink, times)
        else:
            first = self._repeated(sink, sink, times)
        self._add_stops(first)
        return first

    def _repeated(self, sink: _Draft, onward: _Draft, times: Times) -> _Draft:
        """Make the states of a part that occurs several times; those beyond the least number can be left out."""
        self._mark_round(is_first=False)
        until = self._atoms.until_of(self._part)
        ignore = _except(until, self._ignore_condition(self._part, is_inner=True))
        take = _except(until, self._take_condition(self._part))
        assert take is not None
        if self._part.get_quantifier().is_greedy and times.from_times != times.to_times:
            if until is not None:
                self._before_greedy[sink.name] = self._copy(sink)
            _leave_to_loop(sink, take)
        last = sink
        for _ in range(times.from_times, times.to_times):
            last = self._single(last, onward, take, ignore, is_optional=True)
            self._add_following_stop(last)
        for _ in range(times.from_times - 1):
            last = self._single(last, None, take, ignore, is_optional=False)
            self._add_following_stop(last)
        self._mark_round(is_first=True)
        outer = self._ignore_condition(self._part, is_inner=False)
        return self._single(last, onward, take, outer, is_optional=self._part.get_quantifier().is_optional)

    def _single(
        self,
        sink: _Draft,
        onward: _Draft | None,
        take: Expression,
        ignore: Expression | None,
        *,
        is_optional: bool,
    ) -> _Draft:
        """Make the state that takes one event, or those of one round of a group."""
        if isinstance(self._part, GroupPattern):
            return self._group_round(self._part, sink, onward if is_optional else None)
        state = self._state(StateKind.NORMAL, is_windowed=True)
        target = self._without_earlier_nots(sink)
        state.add(Action.TAKE, target, take)
        if is_optional and onward is not None:
            self._add_onward(state, onward)
        if ignore is not None:
            waiting = state
            if is_optional or self._is_head_of_optional_group():
                # A half match that has waited must not go on without the part a second time.
                waiting = self._state(StateKind.NORMAL, is_windowed=False)
                waiting.add(Action.TAKE, target, take)
                waiting.add(Action.IGNORE, waiting, ignore)
                self._add_stops(waiting)
            state.add(Action.IGNORE, waiting, ignore)
        return state

    def _add_onward(self, state: _Draft, onward: _Draft) -> None:
        free = self._free_condition()
        until = self._atoms.until_of(self._part)
        if self._part.get_quantifier().is_greedy and until is not None:
            state.add(Action.PROCEED, self._before_greedy[onward.name], conjunction(free, until))
            free = conjunction(free, negation(until))
        state.add(Action.PROCEED, onward, free)

    def _group_round(self, group: GroupPattern[Any], sink: _Draft, onward: _Draft | None) -> _Draft:
        free = self._free_condition()
        first = self._inside(group, sink)
        if onward is not None:
            first.add(Action.PROCEED, onward, free)
        return first

    def _inside(self, group: GroupPattern[Any], sink: _Draft) -> _Draft:
        """Make the states of the parts of a group and return the first."""
        outer = self._part, self._following, self._group
        self._group, self._part = group, group.get_raw_pattern()
        first = self._convert(self._middle(sink))
        self._part, self._following, self._group = outer
        return first

    def _looping(self, sink: _Draft) -> _Draft:
        """Make a state that takes any number of events."""
        free = self._free_condition()
        if isinstance(self._part, GroupPattern):
            again = self._state(StateKind.NORMAL, is_windowed=True)
            first = self._inside(self._part, again)
            first.add(Action.PROCEED, sink, free)
            again.add(Action.PROCEED, first, free)
            return first
        until = self._atoms.until_of(self._part)
        ignore = _except(until, self._ignore_condition(self._part, is_inner=True))
        take = _except(until, self._take_condition(self._part))
        assert take is not None
        state = self._state(StateKind.NORMAL, is_windowed=True)
        if self._part.get_quantifier().is_greedy:
            if until is not None:
                untouched = self._before_greedy[sink.name] = self._copy(sink)
                state.add(Action.PROCEED, untouched, conjunction(free, until))
                free = conjunction(free, negation(until))
            state.add(Action.PROCEED, sink, free)
            _leave_to_loop(sink, self._take_condition(self._part))
        else:
            state.add(Action.PROCEED, sink, free)
        state.add(Action.TAKE, state, take)
        self._add_following_stop(state)
        if ignore is not None:
            waiting = self._state(StateKind.NORMAL, is_windowed=False)
            waiting.add(Action.TAKE, state, take)
            waiting.add(Action.IGNORE, waiting, ignore)
            state.add(Action.IGNORE, waiting, ignore)
            self._add_following_stop(waiting)
        return state

    def _earlier_nots(self) -> list[Pattern[Any]]:
        """Return the parts that must not follow right before this part, also through optional ones."""
        found: list[Pattern[Any]] = []
        previous = self._part.get_previous()
        while previous is not None:
            quantifier = previous.get_quantifier()
            if quantifier.get_consuming_strategy() is ConsumingStrategy.NOT_FOLLOW:
                found.append(previous)
            elif not quantifier.is_optional:
                break
            previous = previous.get_previous()
        return found

    def _without_earlier_nots(self, sink: _Draft) -> _Draft:
        """Return where taking an optional part leads: what must not follow before it counts no longer."""
        nots = {part.get_name() for part in self._earlier_nots()}
        if not nots or not self._part.get_quantifier().is_optional:
            return sink
        copy = self._draft(sink.name, sink.kind, sink.part)
        for action, target, condition in sink.edges:
            if action is not Action.PROCEED:
                copy.add(action, copy if target is sink else target, condition)
            elif target.kind is not StateKind.STOP:
                copy.add(action, self._without_earlier_nots(target), condition)
            elif target.part not in nots:
                copy.add(action, target, condition)
        return copy

    def _copy(self, draft: _Draft) -> _Draft:
        copy = self._draft(draft.part, draft.kind)
        copy.add_all_of(draft)
        return copy

    def _add_stops(self, state: _Draft) -> None:
        for part in self._earlier_nots():
            state.add(Action.PROCEED, self._stop(part), self._take_condition(part))

    def _add_following_stop(self, state: _Draft) -> None:
        following = self._following
        if (
            following is not None
            and following.get_quantifier().get_consuming_strategy() is ConsumingStrategy.NOT_FOLLOW
        ):
            state.add(Action.PROCEED, self._stop(following), self._take_condition(following))

    def _stop(self, part: Pattern[Any]) -> _Draft:
        """Return the one state of a part that must not occur."""
        name = part.get_name()
        if name not in self._stops:
            stop = self._stops[name] = self._draft(name, StateKind.STOP)
            stop.add(Action.TAKE, stop, condition=True)
        return self._stops[name]

    def _state(self, kind: StateKind, *, is_windowed: bool) -> _Draft:
        """Make a state of the current part."""
        part = self._part
        name = part.get_name()
        is_first = name not in self._names
        draft = self._draft(name, kind)
        if is_windowed:
            times = part.get_times()
            if times is None:
                draft.window = part._windows.get(WithinType.PREVIOUS_AND_CURRENT) or 0
            elif not is_first:
                # As in Flink, the state that is made first, which is the last to be reached, has no bound.
                draft.window = times.window or 0
        return draft

    def _draft(self, name: str, kind: StateKind, part: str | None = None) -> _Draft:
        unique, number = name, 0
        while unique in self._names:
            unique, number = f"{name}:{number}", number + 1
        self._names.add(unique)
        draft = _Draft(unique, name if part is None else part, kind)
        self._drafts.append(draft)
        return draft

    def _mark_round(self, *, is_first: bool) -> None:
        if isinstance(self._part, GroupPattern):
            self._is_first_round[id(self._part)] = is_first

    def _is_head_of_group(self) -> bool:
        return self._group is not None and self._part.get_previous() is None

    def _is_head_of_optional_group(self) -> bool:
        group = self._group
        return (
            group is not None
            and self._is_head_of_group()
            and self._is_first_round.get(id(group), True)
            and group.get_quantifier().is_optional
        )

    def _take_condition(self, part: Pattern[Any]) -> Expression:
        condition = _except(self._until_of_group(), self._atoms.condition_of(part))
        assert condition is not None
        return condition

    def _free_condition(self) -> Expression:
        condition = _except(self._until_of_group(), condition=True)
        assert condition is not None
        return condition

    def _ignore_condition(self, part: Pattern[Any], *, is_inner: bool) -> Expression | None:
        """Return which events may be passed by; ``None``: none may."""
        quantifier = part.get_quantifier()
        group = self._group
        if group is not None and part.get_previous() is None:
            # The first part of a group stands for the group: outside on the first round, inside on the others.
            quantifier = group.get_quantifier()
            is_inner = is_inner or not self._is_first_round.get(id(group), True)
        strategy = quantifier.get_inner_consuming_strategy() if is_inner else quantifier.get_consuming_strategy()
        condition: Expression | None = None
        if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
            condition = negation(self._atoms.condition_of(part))
        elif strategy is ConsumingStrategy.SKIP_TILL_ANY:
            condition = True
        return _except(self._until_of_group(), condition)

    def _until_of_group(self) -> Expression | None:
        return None if self._group is None else self._atoms.until_of(self._group)


def _except(until: Expression | None, condition: Expression | None) -> Expression | None:
    """Return a condition that does not hold where a loop ends."""
    return condition if until is None or condition is None else conjunction(negation(until), condition)


def _leave_to_loop(state: _Draft, take: Expression) -> None:
    """Keep from a state what the greedy loop before it could take."""
    state.edges = [(action, target, conjunction(when, negation(take))) for action, target, when in state.edges]
