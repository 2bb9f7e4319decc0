"""Who gets which state when a job comes back (OST-02, OST-03, SVP-11)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.checkpoint.in_flight import assign_in_flight
from penstock.checkpoint.metadata import CheckpointMetadata, OperatorInfo, OperatorMetadata
from penstock.checkpoint.rescaling import plan_restore, redistribute_operator
from penstock.checkpoint.subtask_state import InputInfo, OperatorState
from penstock.errors import StateRestoreError
from penstock.foundation.keys.groups import key_group_range
from penstock.statestore.handles import ENTRIES, KeyedStateHandle, StoredBytes
from penstock.statestore.operator_state import OperatorStateSnapshot
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.vocabulary.settings.modes import CheckpointKind


def handle(subtask, parallelism):
    groups = key_group_range(subtask, parallelism, 128)
    return KeyedStateHandle(groups.start, groups.stop, ENTRIES, (("", StoredBytes(f"s{subtask}", 1, 0)),))


def own(subtask):
    return StoredBytes(None, 5, 0, f"own-{subtask}".encode())


def operator(parallelism, name="Count", max_parallelism=128):
    info = OperatorInfo(name, parallelism, max_parallelism)
    subtasks = {
        subtask: OperatorState(
            (handle(subtask, parallelism),),
            StoredOperatorState.encode(
                OperatorStateSnapshot({"l": [subtask * 10, subtask * 10 + 1]}, {"u": [subtask]}, {"b": {"rule": 1}}),
                subtask,
            ),
            (own(subtask),),
        )
        for subtask in range(parallelism)
    }
    return OperatorMetadata(info, subtasks)


def checkpoint(**operators):
    return CheckpointMetadata("job", 7, 0, CheckpointKind.SAVEPOINT, operators)


def names(state):
    return [each.files[0][1].location for each in state.keyed]


def test_the_same_parallelism_gives_everybody_its_own():
    former = operator(2)
    states = redistribute_operator("c", former, former.info)
    assert [names(state) for state in states] == [["s0"], ["s1"]]
    assert [state.operator.decode("c").lists for state in states] == [{"l": [0, 1]}, {"l": [10, 11]}]
    assert [state.operator.decode("c").unions for state in states] == [{"u": [0, 1]}] * 2, (
        "except union lists, which all get in full"
    )
    assert [state.own for state in states] == [(own(0),), (own(1),)]


def test_keyed_state_goes_where_its_key_groups_go():
    states = redistribute_operator("c", operator(2), OperatorInfo("Count", 3, 128))
    # 128 groups: two halves of 64 become 43, 43 and 42.
    assert [names(state) for state in states] == [["s0"], ["s0", "s1"], ["s1"]]
    assert [names(state) for state in redistribute_operator("c", operator(3), OperatorInfo("Count", 1, 128))] == [
        ["s0", "s1", "s2"]
    ]


@pytest.mark.parametrize("former", range(1, 8))
@pytest.mark.parametrize("parallelism", range(1, 8))
def test_every_key_group_is_covered_once_per_former_subtask(former, parallelism):
    states = redistribute_operator("c", operator(former), OperatorInfo("Count", parallelism, 128))
    for group in range(128):
        owner = group * parallelism // 128
        holders = [each for each in states[owner].keyed if group in each.key_groups]
        assert len(holders) == 1
    for subtask, state in enumerate(states):
        groups = key_group_range(subtask, parallelism, 128)
        assert all(set(each.key_groups) & set(groups) for each in state.keyed), "nothing is read in vain"


def test_lists_are_spread_unions_and_broadcasts_go_to_everybody():
    first, second, third = redistribute_operator("c", operator(2), OperatorInfo("Count", 3, 128))
    assert [state.operator.decode("c").lists["l"] for state in (first, second, third)] == [[0, 1], [10], [11]]
    for state in (first, second, third):
        assert state.operator.decode("c").unions["u"] == [0, 1]
        assert state.operator.decode("c").broadcasts["b"] == {"rule": 1}
        assert state.own == (own(0), own(1))


def test_another_max_parallelism_is_refused():
    with pytest.raises(
        StateRestoreError, match=r"max parallelism of 128, and the operator has 64.*start_new_chain"
    ) as caught:
        redistribute_operator("c", operator(2), OperatorInfo("Count", 2, 64))
    assert caught.value.operator == "Count (c)"


def test_a_changed_program_restores_what_it_still_has():
    metadata = checkpoint(count=operator(2), gone=operator(1, "Gone"))
    infos = {"source": OperatorInfo("Source", 1, 128), "count": OperatorInfo("Count", 2, 128)}
    vertices = {0: ["source"], 1: ["count"]}
    with pytest.raises(StateRestoreError, match=r"'Gone' \(gone\).*allow_non_restored_state"):
        plan_restore(metadata, vertices, infos)
    plan = plan_restore(metadata, vertices, infos, allow_non_restored_state=True)
    assert (plan.restored, plan.new, plan.dropped) == (("count",), ("source",), ("gone",))
    assert plan.states[0, 0].operators == {}
    assert names(plan.states[1, 1].operators["count"]) == ["s1"]
    assert plan.describe() == "restored  count\nnew       source\ndropped   gone"


def test_an_id_that_the_program_did_not_give_does_not_match_another_step():
    metadata = checkpoint(**{"generated-2": operator(2)})
    same = {"generated-2": OperatorInfo("Count", 2, 128)}
    assert plan_restore(metadata, {0: ["generated-2"]}, same).restored == ("generated-2",)
    other = {"generated-2": OperatorInfo("Map", 2, 128)}
    with pytest.raises(StateRestoreError, match=r"'Count' \(generated-2\).*uid\(\)"):
        plan_restore(metadata, {0: ["generated-2"]}, other)


def test_splits_may_move_so_sources_get_the_positions_of_all():
    states = redistribute_operator("s", operator(2), OperatorInfo("Source", 2, 128, is_source=True))
    assert [state.own for state in states] == [(own(0), own(1))] * 2


def test_an_operator_without_state_is_not_missed():
    stateless = OperatorMetadata(OperatorInfo("Map", 2, 128), {0: OperatorState(), 1: OperatorState()})
    plan = plan_restore(checkpoint(map=stateless), {0: ["s"]}, {"s": OperatorInfo("S", 1, 128)})
    assert plan.dropped == ()


def in_flight(parallelism, *inputs, spread="HASH", senders=2):
    """An operator to each of whose subtasks something is in flight."""
    known = tuple(InputInfo(sender, None, number, senders, spread) for sender, number in inputs)
    recorded = {subtask: StoredBytes(None, 1, 0, bytes([subtask])) for subtask in range(parallelism)}
    former = operator(parallelism)
    return OperatorMetadata(replace(former.info, inputs=known), former.subtasks, recorded)


def parts_of(former, info):
    plan = plan_restore(checkpoint(count=former), {0: ["count"]}, {"count": info})
    states = [plan.states[0, subtask].replayed.get("count") for subtask in range(info.parallelism)]
    return [[] if state is None else [part for part, _ in state.parts] for state in states]


def test_records_in_flight_come_back_where_they_were_also_in_the_middle_of_a_chain():
    former = in_flight(2, ("a", 0))
    infos = {"source": OperatorInfo("Source", 2, 128), "count": former.info}
    plan = plan_restore(checkpoint(count=former), {0: ["source", "count"]}, infos)
    for subtask in (0, 1):
        found = plan.states[0, subtask].replayed["count"]
        assert [part for part, _ in found.parts] == [subtask]
        assert (found.channels, found.is_rescaled) == (((0, 0), (0, 1)), False)


def test_parts_in_flight_go_to_all_who_may_have_records_in_them():
    former = in_flight(2, ("a", 0))
    # 128 key groups: two halves of 64 become 43, 43 and 42.
    assert parts_of(former, replace(former.info, parallelism=3)) == [[0], [0, 1], [1]]
    assert parts_of(former, replace(former.info, parallelism=1)) == [[0, 1]]
    in_turn = in_flight(4, ("a", 0), spread="REBALANCE")
    assert parts_of(in_turn, replace(in_turn.info, parallelism=3)) == [[0, 3], [1], [2]]
    custom = in_flight(2, ("a", 0), spread="CUSTOM")
    assert parts_of(custom, replace(custom.info, parallelism=3)) == [[0, 1]] * 3


def test_inputs_are_found_by_their_senders():
    former = in_flight(2, ("a", 0), ("b", 0), ("b", 0))
    swapped = replace(former.info, inputs=tuple(InputInfo(sender, None, 0, 3, "HASH") for sender in "xbab"))
    (found, _) = assign_in_flight("count", former, swapped)
    assert found.channels == ((2, 0), (2, 1), (1, 0), (1, 1), (3, 0), (3, 1))
    assert found.same_senders == set()
    renamed = replace(former.info, inputs=tuple(InputInfo(sender, None, 0, 2, "HASH") for sender in "xyz"))
    (found, _) = assign_in_flight("count", former, renamed)
    assert found.channels == ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1))
    assert found.same_senders == {0, 1, 2}


def test_records_in_flight_of_an_input_that_is_gone_are_refused():
    former = in_flight(2, ("a", 0), ("b", 1))
    only_one = replace(former.info, inputs=former.info.inputs[:1])
    with pytest.raises(StateRestoreError, match=r"unaligned.*inputs are others now.*savepoint"):
        assign_in_flight("count", former, only_one)


def test_state_that_a_step_cannot_take_is_not_left_behind_without_a_word():
    former = operator(2)
    source = replace(former, info=replace(former.info, kind="Source"))
    as_map = replace(former.info, kind="Map")
    with pytest.raises(StateRestoreError, match=r"what a Source step kept.*is a Map now.*allow_non_restored_state"):
        plan_restore(checkpoint(rows=source), {0: ["rows"]}, {"rows": as_map})
    keyed = OperatorMetadata(former.info, {0: OperatorState((handle(0, 1),))})
    unkeyed = replace(former.info, has_keys=False)
    with pytest.raises(StateRestoreError, match=r"keyed state.*not on a keyed stream any more") as caught:
        plan_restore(checkpoint(count=keyed), {0: ["count"]}, {"count": unkeyed})
    assert caught.value.operator == "Count (count)"
    plan = plan_restore(checkpoint(count=keyed), {0: ["count"]}, {"count": unkeyed}, allow_non_restored_state=True)
    assert (plan.restored, plan.new, plan.dropped) == ((), ("count",), ("count",))
    assert plan.states[0, 0].operators == {}
