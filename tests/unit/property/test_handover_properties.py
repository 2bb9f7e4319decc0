"""Programs that change records give what record-by-record hand-over with copies gives, however they are run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import EmbeddedRocksDBStateBackend, HashMapStateBackend
from tests.unit.local_jobs import collect, environment, local_run, results
from tests.unit.property.mutating_programs import KINDS, Gather, YieldTwice, build, programs, reference

RECORDS = st.lists(st.integers(0, 5), max_size=8)
HEAP, ON_DISK = HashMapStateBackend, EmbeddedRocksDBStateBackend


def records_of(numbers: list[int]) -> list[dict[str, Any]]:
    shared: list[Any] = []
    return [{"id": number, "log": shared} for number in numbers]


def run(program: list[type[Any]], numbers: list[int], backend: type[Any], *, is_chained: bool) -> list[Any]:
    env = environment().set_state_backend(backend())
    if not is_chained:
        env.disable_operator_chaining()
    return results(build(env, program, records_of(numbers)))


@given(programs(), RECORDS, st.booleans())
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_a_program_gives_what_single_records_would(
    program: list[type[Any]], numbers: list[int], is_chained: bool
) -> None:
    wanted = reference(program, records_of(numbers))
    assert run(program, numbers, HEAP, is_chained=is_chained) == wanted


@given(programs(), RECORDS, st.booleans())
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_a_program_gives_the_same_with_state_on_disk(
    program: list[type[Any]], numbers: list[int], is_chained: bool
) -> None:
    program = [*program, Gather]
    assert run(program, numbers, ON_DISK, is_chained=is_chained) == reference(program, records_of(numbers))


@given(st.lists(st.sampled_from(KINDS), max_size=2), programs(), programs(), RECORDS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_consumers_of_one_stream_do_not_see_each_other(
    before: list[type[Any]], left: list[type[Any]], right: list[type[Any]], numbers: list[int]
) -> None:
    env = environment()
    common = build(env, before, records_of(numbers))
    branches = {"left": left, "right": right, "plain": []}
    for name, program in branches.items():
        collect(_continued(common, program), name)
    found = local_run(env).run().collected
    for name, program in branches.items():
        assert found.get(name, []) == reference([*before, *program], records_of(numbers))


def _continued(stream: Any, program: list[type[Any]]) -> Any:
    class _Given:
        """Hands out a stream where a program begins with a collection."""

        def from_collection(self, _: Any) -> Any:
            return stream

    return build(_Given(), program, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_by_itself_does_what_it_is_for(kind: type[Any]) -> None:
    """The reference is not trivial: with shared objects, every kind but those that make new ones would show it."""
    numbers = [1, 2, 4, 5]
    wanted = reference([kind, YieldTwice], records_of(numbers))
    for backend in (HEAP, ON_DISK):
        assert run([kind, YieldTwice], numbers, backend, is_chained=True) == wanted
