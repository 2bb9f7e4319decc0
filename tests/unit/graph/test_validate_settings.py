"""Settings of a job that its graph must fit to: uids, unaligned checkpoints, slot sharing groups."""

from __future__ import annotations

import pytest

from penstock import Configuration, ProgramError, SlotSharingGroup, StreamExecutionEnvironment
from penstock.testing import build_job
from tests.unit.local_jobs import environment, results


def test_a_step_without_a_uid_is_refused_where_none_are_generated() -> None:
    env = environment()
    env.get_config().disable_auto_generated_uids()
    stream = env.from_collection([1, 2]).uid("numbers").map(lambda n: n + 1).name("Add One")
    stream.print().uid("printed")
    with pytest.raises(ProgramError, match="The step 'Add One' has no uid") as refused:
        build_job(env)
    assert __file__ in str(refused.value)


def test_all_steps_without_a_uid_are_named() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"pipeline.auto-generate-uids": "false"}))
    env.from_collection([1, 2]).name("Numbers").map(lambda n: n).name("Same").print().name("Shown")
    with pytest.raises(ProgramError, match=r"(?s)'Numbers' has no uid.*Also without one: 'Same' \(at .*'Shown'"):
        build_job(env)


def test_a_job_whose_steps_all_have_uids_or_hashes_runs() -> None:
    env = environment()
    env.get_config().disable_auto_generated_uids()
    stream = env.from_collection([1, 2]).uid("numbers").map(lambda n: n + 1).set_uid_hash("0" * 32)
    stream.print().uid("printed")
    build_job(env)
    env.get_config().enable_auto_generated_uids()
    assert results(environment().from_collection([1]).map(lambda n: n)) == [1]


def custom_job(*, forced: bool, unaligned: bool = True) -> StreamExecutionEnvironment:
    env = environment(2)
    env.enable_checkpointing(1000)
    env.get_checkpoint_config().enable_unaligned_checkpoints(unaligned)
    env.get_checkpoint_config().set_force_unaligned_checkpoints(forced)
    env.from_collection([1, 2]).partition_custom(lambda key, number: key % number, lambda n: n).print()
    return env


def test_unaligned_checkpoints_with_a_partitioner_of_the_program_are_refused_unless_forced() -> None:
    with pytest.raises(ProgramError, match=r"partition_custom.*execution.checkpointing.unaligned.forced"):
        build_job(custom_job(forced=False))
    build_job(custom_job(forced=True))
    build_job(custom_job(forced=False, unaligned=False))


def test_a_slot_sharing_group_with_resources_is_refused_where_a_step_gets_it() -> None:
    stream = environment().from_collection([1]).map(lambda n: n)
    group = SlotSharingGroup.builder("io").set_cpu_cores(1.0).set_task_heap_memory_mb(100).build()
    with pytest.raises(ProgramError, match="'io' names the resources of a slot") as refused:
        stream.slot_sharing_group(group)
    assert __file__ in str(refused.value)
    stream.slot_sharing_group(SlotSharingGroup.builder("io").build())


def test_blocks_wait_until_they_are_full_where_the_timeout_is_off() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"execution.buffer-timeout.enabled": "false"}))
    assert env.get_buffer_timeout() == -1


def test_an_unknown_runtime_mode_is_refused() -> None:
    with pytest.raises(ProgramError, match="'QUICK'; write one of"):
        StreamExecutionEnvironment(Configuration.from_dict({"execution.runtime-mode": "QUICK"}))
