"""Chains, stages and slots."""

from __future__ import annotations

import pytest

from penstock import ProgramError, SlotSharingGroup, SourceFunction, StreamExecutionEnvironment
from penstock.graph.partitioning import Forward, KeyGroups, Rebalance
from penstock.graph.plan import Plan
from penstock.graph.settings import default_max_parallelism
from penstock.testing import build_job
from tests.unit.local_jobs import by_subtask, collect, environment, results, run_locally


class Numbers(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)

    def cancel(self) -> None: ...


def plan_of(env: StreamExecutionEnvironment) -> Plan:
    return build_job(env).plan


def chains(plan: Plan) -> list[list[str]]:
    return [[node.name for node in vertex.nodes] for vertex in plan.vertices.values()]


def test_w_80_chaining() -> None:
    env = environment()
    source = env.add_source(Numbers()).name("source").set_parallelism(1)
    mapped = source.flat_map(lambda x: [x]).name("flatMap").set_parallelism(2)
    reduced = mapped.key_by(lambda x: x).reduce(lambda a, b: a + b).name("reduce").set_parallelism(2)
    reduced.print().name("sink").set_parallelism(2)
    plan = plan_of(env)
    assert chains(plan) == [["source"], ["flatMap"], ["reduce", "sink"]]
    assert plan.subtasks == 5
    assert plan.flink_slots == 2
    assert [stage.parallelism for stage in plan.stages] == [1, 2, 2]
    assert plan.spark_slots == 5
    assert [type(edge.partitioning) for edge in plan.edges] == [Rebalance, KeyGroups]


def test_w_81_slots_and_vertices() -> None:
    env = environment(2)
    numbers = env.from_sequence(1, 10).map(lambda x: x)
    numbers.key_by(lambda x: x).reduce(lambda a, b: a + b).print().set_parallelism(1)
    plan = plan_of(env)
    assert plan.flink_slots == 2
    # Source and map are chained here: with four separate vertices it would be 2 + 2 + 2 + 1.
    assert [vertex.parallelism for vertex in plan.vertices.values()] == [2, 2, 1]
    assert plan.subtasks == 5


def test_w_82_slots_and_vertices() -> None:
    env = environment(6)
    numbers = env.from_sequence(1, 10).map(lambda x: x)
    numbers.key_by(lambda x: x).reduce(lambda a, b: a + b).print().set_parallelism(1)
    plan = plan_of(env)
    assert plan.flink_slots == 6
    assert plan.subtasks == 13


def test_equal_parallelism_without_exchange_is_one_chain() -> None:
    env = environment(3)
    env.from_sequence(1, 3).map(lambda x: x).filter(bool).print()
    plan = plan_of(env)
    assert len(plan.vertices) == 1
    assert plan.edges == ()
    assert plan.spark_slots == 3


def test_disable_chaining_leaves_a_step_alone() -> None:
    env = environment()
    env.from_sequence(1, 3).map(lambda x: x).name("a").disable_chaining().map(lambda x: x).name("b").print()
    assert chains(plan_of(env)) == [["Sequence Source"], ["a"], ["b", "Print to Std. Out"]]


def test_start_new_chain_cuts_before_the_step_only() -> None:
    env = environment()
    env.from_sequence(1, 3).map(lambda x: x).name("a").start_new_chain().map(lambda x: x).name("b")
    assert chains(plan_of(env)) == [["Sequence Source"], ["a", "b"]]


def test_disable_operator_chaining_makes_every_step_a_vertex() -> None:
    env = environment().disable_operator_chaining()
    env.from_sequence(1, 3).map(lambda x: x).name("a").map(lambda x: x).name("b")
    assert chains(plan_of(env)) == [["Sequence Source"], ["a"], ["b"]]


def test_explicit_forward_chains_like_no_partitioning() -> None:
    env = environment(2)
    env.from_sequence(1, 3).forward().map(lambda x: x).name("a")
    assert chains(plan_of(env)) == [["Sequence Source", "a"]]


def test_rebalance_cuts_although_parallelism_is_equal() -> None:
    env = environment(2)
    env.from_sequence(1, 3).rebalance().map(lambda x: x).name("a")
    assert chains(plan_of(env)) == [["Sequence Source"], ["a"]]


def test_forward_with_unequal_parallelism_is_refused_with_both_numbers() -> None:
    env = environment(2)
    env.from_sequence(1, 3).name("numbers").forward().map(lambda x: x).name("a").set_parallelism(3)
    with pytest.raises(ProgramError, match=r"(?s)'numbers' has 2.*'a' has 3.*rebalance.*test_plan\.py:\d+"):
        plan_of(env)


def test_different_slot_sharing_groups_are_not_chained() -> None:
    env = environment(2)
    env.from_sequence(1, 3).map(lambda x: x).name("a").slot_sharing_group("heavy")
    plan = plan_of(env)
    assert chains(plan) == [["Sequence Source"], ["a"]]
    assert isinstance(plan.edges[0].partitioning, Forward)


def test_a_slot_sharing_group_is_inherited_from_the_input() -> None:
    env = environment(2)
    env.from_sequence(1, 3).map(lambda x: x).name("a").slot_sharing_group("heavy").map(lambda x: x).name("b")
    assert chains(plan_of(env)) == [["Sequence Source"], ["a", "b"]]


def test_each_slot_sharing_group_needs_slots_of_its_own() -> None:
    env = environment(2)
    group = SlotSharingGroup.builder("heavy").build()
    env.from_sequence(1, 3).map(lambda x: x).slot_sharing_group(group).set_parallelism(3)
    assert plan_of(env).flink_slots == 2 + 3


def test_inputs_of_different_groups_give_the_default_group() -> None:
    env = environment()
    left = env.from_sequence(1, 3).slot_sharing_group("left")
    right = env.from_sequence(1, 3).slot_sharing_group("right")
    left.union(right).map(lambda x: x).name("both")
    plan = plan_of(env)
    assert [vertex.slot_sharing_group for vertex in plan.vertices.values()] == ["left", "right", "default"]


def test_a_diamond_is_two_stages() -> None:
    env = environment(2)
    source = env.from_sequence(1, 3)
    left = source.map(lambda x: x).name("left")
    right = source.map(lambda x: -x).name("right")
    left.union(right).map(lambda x: x).name("both")
    plan = plan_of(env)
    assert chains(plan) == [["Sequence Source", "left", "right"], ["both"]]
    assert [stage.vertices for stage in plan.stages] == [(1,), (4,)]
    assert len(plan.edges) == 2


def test_a_diamond_gives_every_record_on_both_ways() -> None:
    env = environment(2)
    source = env.from_sequence(1, 3)
    both = source.map(lambda x: x).union(source.map(lambda x: -x)).map(lambda x: x)
    assert sorted(results(both)) == [-3, -2, -1, 1, 2, 3]


def test_a_union_of_different_depth_sits_behind_the_deepest() -> None:
    env = environment(2)
    shallow = env.from_sequence(1, 2)
    deep = env.from_sequence(3, 4).rebalance().map(lambda x: x).key_by(lambda x: x).map(lambda x: x)
    shallow.union(deep).map(lambda x: x).name("both")
    plan = plan_of(env)
    both = next(vertex for vertex in plan.vertices.values() if vertex.name == "both")
    assert both.stage == 3
    assert [len(stage.vertices) for stage in plan.stages] == [2, 1, 1, 1]


@pytest.mark.parametrize("middle", [1, 2, 5])
def test_records_for_a_deeper_stage_pass_through_in_order(middle: int) -> None:
    """The stages between may have fewer or more tasks than the two ends."""
    env = environment(3)
    shallow = env.from_collection(list(range(100)))
    deep = env.from_collection([-1]).rebalance().map(lambda x: x).set_parallelism(middle)
    both = shallow.union(deep).map(lambda x: x).set_parallelism(1)
    found = results(both)
    assert [value for value in found if value >= 0] == list(range(100))
    assert found.count(-1) == 1


def test_a_source_alone_runs() -> None:
    env = environment(2)
    env.from_sequence(1, 4)
    assert run_locally(env).is_finished


def test_two_independent_jobs_in_one_graph() -> None:
    env = environment(2)
    collect(env.from_collection([1, 2]), "first")
    collect(env.from_collection([3]), "second")
    assert run_locally(env).collected == {"first": [1, 2], "second": [3]}


def test_an_edge_to_fewer_subtasks_uses_those_only() -> None:
    env = environment(4)
    env.from_sequence(1, 8).rebalance().map(lambda x: x).set_parallelism(2).print().set_parallelism(2)
    assert set(by_subtask(run_locally(env).printed)) == {1, 2}


@pytest.mark.parametrize(
    ("parallelism", "groups"), [(1, 128), (85, 128), (86, 256), (128, 256), (20_000, 32_768), (32_768, 32_768)]
)
def test_the_number_of_key_groups_is_flinks_choice(parallelism: int, groups: int) -> None:
    """1.5 times the parallelism, rounded up to a power of two, within 128 and 32768."""
    assert default_max_parallelism(parallelism) == groups


def test_max_parallelism_of_a_step_wins_over_the_jobs() -> None:
    env = environment(2).set_max_parallelism(64)
    env.from_sequence(1, 2).key_by(lambda x: x).map(lambda x: x).set_max_parallelism(32)
    plan = plan_of(env)
    assert [vertex.max_parallelism for vertex in plan.vertices.values()] == [64, 32]


def test_a_second_job_reads_from_the_streams_of_the_first() -> None:
    env = environment()
    numbers = env.from_collection([1, 2])
    collect(numbers, "first")
    assert run_locally(env).collected == {"first": [1, 2]}
    assert results(numbers.map(lambda x: x * 10)) == [10, 20]


def test_a_second_job_does_not_run_the_first_again() -> None:
    env = environment()
    collect(env.from_collection([1]), "first")
    run_locally(env)
    collect(env.from_collection([2]), "second")
    assert run_locally(env).collected == {"second": [2]}


def test_nothing_left_to_run_is_refused() -> None:
    env = environment()
    collect(env.from_collection([1]))
    run_locally(env)
    with pytest.raises(ProgramError, match="No operators defined"):
        run_locally(env)
