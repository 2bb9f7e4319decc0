"""The life of checkpoints as the coordinator sees it (CKP, ALG, RET, SVP)."""

from __future__ import annotations

import itertools

import pytest

from penstock.checkpoint.coordinator import CheckpointCoordinator
from penstock.checkpoint.coordinator_messages import (
    Abort,
    CoordinatorSettings,
    Delete,
    Discard,
    FailJob,
    FinishJob,
    NotifyComplete,
    Recover,
    SavepointDone,
    SavepointFailed,
    StoreMetadata,
    Trigger,
)
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.settings.modes import CheckpointingMode, CheckpointKind

TASKS = {"source": [], "map": ["source"], "sink": ["map"]}


def settings(**changed):
    return CoordinatorSettings(**{"interval": 100, "timeout": 1000, **changed})


class Driver:
    """Feeds a coordinator and keeps what it asked for."""

    def __init__(self, tasks=TASKS, now=0, **changed):
        self.coordinator = CheckpointCoordinator(settings(**changed))
        self.coordinator.job_started(tasks)
        self.coordinator.tasks_running(now)
        self.tasks = list(tasks)

    def __getattr__(self, name):
        return getattr(self.coordinator, name)

    def trigger(self, now):
        (action,) = self.coordinator.tick(now)
        assert isinstance(action, Trigger)
        return action.checkpoint_id

    def acknowledge_all(self, checkpoint_id, now):
        return [a for task in self.tasks for a in self.coordinator.acknowledge(task, checkpoint_id, f"{task}!", now)]

    def complete(self, now):
        checkpoint_id = self.trigger(now)
        (store,) = self.acknowledge_all(checkpoint_id, now)
        assert isinstance(store, StoreMetadata)
        return self.coordinator.stored(checkpoint_id, now)


def kinds(actions):
    return [type(action).__name__ for action in actions]


def test_the_settings_of_a_job():
    config = CheckpointConfig()
    assert CoordinatorSettings.of(config) == CoordinatorSettings(interval=None)
    config.set_checkpoint_interval(1000)
    config.set_min_pause_between_checkpoints(500)
    config.set_checkpoint_timeout(60_000)
    config.set_tolerable_checkpoint_failure_number(10)
    config.set_max_concurrent_checkpoints(2)
    config.set_num_retained_checkpoints(20)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert CoordinatorSettings.of(config) == CoordinatorSettings(1000, 60_000, 500, 2, 10, 20, is_exactly_once=False)


def test_a_checkpoint_from_trigger_to_completion():
    driver = Driver()
    assert driver.tick(99) == []
    (trigger,) = driver.tick(100)
    assert (trigger.checkpoint_id, trigger.tasks, trigger.options.timestamp) == (1, ("source",), 100)
    assert trigger.options.kind is CheckpointKind.PERIODIC
    assert driver.acknowledge("source", 1, "s", 101) == []
    assert driver.acknowledge("sink", 1, "k", 102) == []
    (store,) = driver.acknowledge("map", 1, "m", 103)
    assert store == StoreMetadata(1, trigger.options, {"source": "s", "map": "m", "sink": "k"}, frozenset())
    assert driver.stored(1, 104) == [NotifyComplete(1)]
    assert driver.retained == (1,)


def test_nothing_happens_before_all_tasks_run_or_without_an_interval():
    coordinator = CheckpointCoordinator(settings())
    assert coordinator.next_tick() is None
    coordinator.job_started(TASKS)
    assert coordinator.tick(10_000) == []
    driver = Driver(interval=None)
    assert driver.next_tick() is None
    assert driver.tick(10_000) == []


def test_the_interval_counts_from_start_to_start():
    driver = Driver()
    driver.complete(100)
    assert driver.next_tick() == 200
    driver.complete(230)
    assert driver.next_tick() == 330


def test_the_pause_counts_from_the_end():
    driver = Driver(min_pause=80)
    driver.trigger(100)
    driver.acknowledge_all(1, 150)
    driver.stored(1, 190)
    assert driver.next_tick() == 270
    assert driver.tick(269) == []
    assert kinds(driver.tick(270)) == ["Trigger"]


def test_ckp_14_a_pause_longer_than_the_interval_wins():
    driver = Driver(interval=100, min_pause=500)
    assert driver.next_tick() == 500
    driver.complete(500)
    assert driver.next_tick() == 1000


def test_one_at_a_time_unless_more_are_allowed():
    driver = Driver()
    driver.trigger(100)
    assert driver.tick(300) == []
    driver.acknowledge_all(1, 310)
    assert driver.tick(311) == [], "it counts until it is stored"
    driver.stored(1, 312)
    assert kinds(driver.tick(312)) == ["Trigger"], "the next one is overdue"
    driver = Driver(max_concurrent=2)
    assert [driver.trigger(100), driver.trigger(200)] == [1, 2]
    assert driver.tick(300) == []


def test_a_pause_leaves_no_room_for_two_at_a_time():
    driver = Driver(max_concurrent=2, min_pause=10)
    driver.trigger(100)
    assert driver.tick(500) == []


def test_a_checkpoint_that_takes_too_long_is_given_up():
    driver = Driver(tolerable_failures=1)
    driver.trigger(100)
    driver.acknowledge("source", 1, "s", 200)
    assert driver.next_tick() == 1100
    assert driver.tick(1099) == []
    abort, delete, trigger = driver.tick(1100)
    assert abort.checkpoint_id == 1
    assert "1000 ms; no acknowledgement from map, sink" in abort.reason
    assert delete == Delete(1)
    assert trigger.checkpoint_id == 2
    assert driver.acknowledge("map", 1, "late", 1200) == [Discard(1, "late")]


def test_storing_is_not_cut_off():
    driver = Driver()
    driver.trigger(100)
    driver.acknowledge_all(1, 200)
    assert driver.tick(5000) == []
    assert driver.stored(1, 5001) == [NotifyComplete(1)]


def test_w_95_ten_failed_checkpoints_in_a_row_are_tolerated_and_the_eleventh_fails_the_job():
    driver = Driver(tolerable_failures=10)
    for number in range(1, 11):
        assert kinds(driver.decline("map", driver.trigger(number * 100), "disk full", 0)) == ["Abort", "Delete"]
    actions = driver.decline("map", driver.trigger(1100), "disk full", 0)
    assert kinds(actions) == ["Abort", "Delete", "FailJob"]
    assert "disk full" in actions[-1].reason


def test_w_95_none_tolerated_the_first_one_fails_the_job():
    driver = Driver()
    assert kinds(driver.decline("map", driver.trigger(100), "no", 101)) == ["Abort", "Delete", "FailJob"]


def test_a_success_in_between_starts_the_count_again():
    driver = Driver(tolerable_failures=1)
    assert FailJob not in map(type, driver.decline("map", driver.trigger(100), "no", 101))
    driver.complete(300)
    assert FailJob not in map(type, driver.decline("map", driver.trigger(500), "no", 501))
    assert FailJob in map(type, driver.decline("map", driver.trigger(700), "no", 701))


def test_a_checkpoint_that_was_overtaken_is_no_failure():
    driver = Driver()
    assert kinds(driver.decline("map", driver.trigger(100), "superseded", 101, is_failure=False)) == ["Abort", "Delete"]


def test_metadata_that_cannot_be_stored_is_a_failure():
    driver = Driver(tolerable_failures=1)
    for now, expected in ((100, ["Abort", "Delete"]), (200, ["Abort", "Delete", "FailJob"])):
        checkpoint_id = driver.trigger(now)
        driver.acknowledge_all(checkpoint_id, now)
        assert kinds(driver.store_failed(checkpoint_id, "disk full", now)) == expected
    assert driver.retained == ()


@pytest.mark.parametrize(("retained", "expected"), [(1, (25,)), (20, tuple(range(6, 26)))])
def test_w_88_the_newest_checkpoints_are_retained(retained, expected):
    driver = Driver(retained=retained)
    deleted = []
    for number in range(1, 26):
        actions = driver.complete(number * 100)
        assert actions[0] == NotifyComplete(number)
        deleted += [action.checkpoint_id for action in actions if isinstance(action, Delete)]
    assert driver.retained == expected
    assert deleted == list(range(1, expected[0]))


def test_incremental_checkpoints_may_use_the_newest_complete_one():
    driver = Driver()
    (trigger,) = driver.tick(100)
    assert trigger.options.reusable is None
    driver.acknowledge_all(1, 101)
    driver.stored(1, 102)
    assert driver.tick(200)[0].options.reusable == 1


def test_a_newer_complete_checkpoint_ends_the_wait_for_an_older_one():
    driver = Driver(max_concurrent=2)
    driver.trigger(100)
    driver.trigger(200)
    driver.acknowledge_all(2, 210)
    assert kinds(driver.stored(2, 211)) == ["NotifyComplete", "Abort", "Delete"]
    assert driver.pending == {}


def test_an_older_checkpoint_published_after_a_newer_one_is_not_announced():
    driver = Driver(max_concurrent=2)
    for now in (100, 200):
        driver.acknowledge_all(driver.trigger(now), now)
    assert driver.stored(2, 300) == [NotifyComplete(2)]
    assert driver.stored(1, 301) == [Delete(1)]
    assert driver.retained == (2,)


def test_unaligned_is_for_checkpoints_only():
    driver = Driver(is_unaligned=True, aligned_timeout=30)
    (trigger,) = driver.tick(100)
    assert (trigger.options.is_unaligned, trigger.options.aligned_timeout) == (True, 30)
    (trigger,) = driver.savepoint_requested("r", 101)
    assert not trigger.options.is_unaligned


def test_a_savepoint_starts_at_once_and_belongs_to_the_user():
    driver = Driver()
    driver.complete(100)
    (trigger,) = driver.savepoint_requested("me", 110, location="/savepoints")
    assert (trigger.options.kind, trigger.options.location) == (CheckpointKind.SAVEPOINT, "/savepoints")
    assert trigger.options.reusable is None, "a savepoint stands alone"
    driver.acknowledge_all(2, 120)
    assert driver.stored(2, 130) == [SavepointDone("me", 2)], "sinks do not commit with it"
    assert driver.retained == (1,)
    assert driver.job_failed(140) == [Recover(1)], "and the job does not restart from it"


def test_a_savepoint_does_not_wait_for_a_checkpoint_and_outlives_it():
    driver = Driver(tolerable_failures=5)
    driver.savepoint_requested("me", 50)
    driver.coordinator._max_concurrent = 2
    driver.trigger(100)
    driver.acknowledge_all(2, 110)
    assert driver.stored(2, 111) == [NotifyComplete(2)], "the older savepoint is still wanted"
    assert list(driver.pending) == [1]


def test_a_failed_savepoint_is_told_to_whoever_asked_and_does_not_count():
    driver = Driver()
    driver.savepoint_requested("me", 50)
    actions = driver.decline("map", 1, "disk full", 60)
    assert kinds(actions) == ["Abort", "Delete", "SavepointFailed"]
    assert actions[-1].request == "me"


def test_no_savepoint_without_a_running_job():
    coordinator = CheckpointCoordinator(settings())
    assert kinds(coordinator.savepoint_requested("me", 0)) == ["SavepointFailed"]
    coordinator.job_started(TASKS)
    assert kinds(coordinator.savepoint_requested("me", 0)) == ["SavepointFailed"]


def test_stop_with_savepoint():
    driver = Driver()
    driver.complete(100)
    (trigger,) = driver.savepoint_requested("me", 150, stop=True, drain=True)
    assert (trigger.options.kind, trigger.options.is_draining) == (CheckpointKind.STOP, True)
    assert driver.tick(5_00) == [], "no other checkpoint begins"
    assert kinds(driver.savepoint_requested("other", 151)) == ["SavepointFailed"]
    driver.acknowledge_all(2, 160)
    assert driver.stored(2, 170) == [NotifyComplete(2), SavepointDone("me", 2, is_stop=True)]
    assert driver.retained == (1,)
    finished = [action for task in TASKS for action in driver.task_finished(task, 180)]
    assert finished == [FinishJob()], "what had to be committed was committed with the savepoint"


def test_a_stop_that_fails_lets_the_job_go_on():
    driver = Driver()
    driver.savepoint_requested("me", 50, stop=True)
    assert kinds(driver.decline("map", 1, "disk full", 60)) == ["Abort", "Delete", "SavepointFailed"]
    assert kinds(driver.tick(100)) == ["Trigger"]


def test_no_checkpoint_begins_behind_the_savepoint_of_a_job_that_is_about_to_be_cancelled():
    driver = Driver()
    (trigger,) = driver.savepoint_requested("me", 50, cancel=True)
    assert trigger.options.kind is CheckpointKind.SAVEPOINT
    assert driver.tick(500) == []
    driver.acknowledge_all(1, 510)
    assert driver.stored(1, 520) == [SavepointDone("me", 1)], "sinks do not commit with it"
    assert driver.tick(900) == [], "sinks would commit what comes behind the savepoint"
    assert driver.checkpoint_requested(901) == []


def test_a_job_whose_savepoint_fails_is_not_cancelled_and_takes_checkpoints_again():
    driver = Driver()
    driver.savepoint_requested("me", 50, cancel=True)
    assert kinds(driver.decline("map", 1, "disk full", 60)) == ["Abort", "Delete", "SavepointFailed"]
    assert kinds(driver.tick(100)) == ["Trigger"]


def test_a_full_checkpoint_shares_no_file_with_an_earlier_one():
    driver = Driver(max_concurrent=2)
    driver.complete(100)
    (trigger,) = driver.checkpoint_requested(110)
    assert trigger.options.reusable == 1
    (full,) = driver.checkpoint_requested(120, is_full=True)
    assert full.options.reusable is None


def test_after_a_stop_the_job_recovers_from_the_savepoint_because_sinks_have_committed_with_it():
    driver = Driver()
    driver.complete(100)
    driver.savepoint_requested("me", 150, stop=True)
    driver.acknowledge_all(2, 160)
    driver.stored(2, 170)
    assert driver.job_failed(180) == [Recover(2)]


def test_a_failure_before_the_first_checkpoint_restarts_from_the_beginning():
    assert Driver().job_failed(50) == [Recover(None)]


def test_a_failure_gives_up_what_is_pending_and_recovers_from_the_newest_complete_checkpoint():
    driver = Driver()
    driver.complete(100)
    driver.trigger(200)
    driver.savepoint_requested("me", 205)
    assert driver.job_failed(210) == [
        Delete(2),
        Delete(3),
        SavepointFailed("me", "the job failed"),
        Recover(1),
    ]
    assert driver.job_failed(211) == [Recover(1)], "also if the job could not even be started again"
    assert driver.acknowledge("map", 2, "late", 212) == [Discard(2, "late")]
    assert driver.task_finished("map", 213) == []
    driver.job_started(TASKS)
    driver.tasks_running(300)
    (trigger,) = driver.tick(400)
    assert trigger.checkpoint_id == 4, "ids never come twice"


@pytest.mark.parametrize(("outcome", "restored"), [("stored", 2), ("store_failed", 1)])
def test_recovery_waits_until_a_publication_is_decided(outcome, restored):
    driver = Driver()
    driver.complete(100)
    driver.acknowledge_all(driver.trigger(200), 200)
    assert driver.job_failed(210) == []
    actions = driver.stored(2, 220) if outcome == "stored" else driver.store_failed(2, "disk full", 220)
    assert actions[-1] == Recover(restored)
    assert NotifyComplete(2) not in actions, "there is nobody to notify; the restored sinks commit"
    assert FailJob not in map(type, actions)
    assert Delete(restored) not in actions


TWO_SOURCES = {"a": [], "b": [], "sink": ["a", "b"]}


def test_a_task_that_finished_before_a_checkpoint_is_asked_once_and_its_state_stands_in_all_later_ones():
    driver = Driver(TWO_SOURCES)
    assert driver.task_finished("a", 50) == []
    (trigger,) = driver.tick(100)
    assert (trigger.tasks, trigger.options.timestamp) == (("b", "a"), 100)
    driver.acknowledge("a", 1, "a-last", 109)
    driver.acknowledge("b", 1, "b1", 110)
    (store,) = driver.acknowledge("sink", 1, "sink1", 111)
    assert store.states == {"a": "a-last", "b": "b1", "sink": "sink1"}
    assert store.finished == {"a"}
    driver.stored(1, 112)
    (trigger,) = driver.tick(200)
    assert trigger.tasks == ("b",)
    driver.acknowledge("b", 2, "b2", 210)
    (store,) = driver.acknowledge("sink", 2, "sink2", 211)
    assert store.states == {"a": "a-last", "b": "b2", "sink": "sink2"}


def test_a_finished_task_is_asked_again_where_the_checkpoint_with_its_state_was_given_up():
    driver = Driver(TWO_SOURCES, tolerable_failures=1)
    driver.task_finished("a", 50)
    driver.tick(100)
    driver.acknowledge("a", 1, "a1", 109)
    assert driver.decline("b", 1, "disk full", 110)[1:] == [Delete(1), Discard(1, "a1")]
    (trigger,) = driver.tick(200)
    assert trigger.tasks == ("b", "a")


def test_a_failure_discards_what_only_the_checkpoint_under_way_holds():
    driver = Driver(TWO_SOURCES)
    driver.task_finished("a", 50)
    driver.complete(100)
    driver.tick(200)
    driver.task_finished("b", 210)
    driver.acknowledge("b", 2, "b-last", 211)
    assert driver.job_failed(212) == [Delete(2), Discard(2, "b-last"), Recover(1)], "the state of a is in checkpoint 1"


def test_the_state_of_a_finished_task_in_a_savepoint_is_not_kept_because_the_savepoint_may_be_moved():
    driver = Driver(TWO_SOURCES)
    driver.task_finished("a", 50)
    driver.savepoint_requested("me", 60)
    for task in TWO_SOURCES:
        driver.acknowledge(task, 1, task, 70)
    driver.stored(1, 80)
    assert driver.tick(100)[0].tasks == ("b", "a")


def test_a_task_that_finishes_during_a_checkpoint_is_asked_for_its_state():
    driver = Driver(TWO_SOURCES)
    driver.trigger(100)
    driver.acknowledge("b", 1, "b1", 110)
    driver.acknowledge("sink", 1, "sink1", 111)
    (trigger,) = driver.task_finished("a", 112)
    assert (trigger.checkpoint_id, trigger.tasks) == (1, ("a",))
    (store,) = driver.acknowledge("a", 1, "a-last", 113)
    assert (store.states["a"], store.finished) == ("a-last", {"a"})
    assert driver.stored(1, 114) == [NotifyComplete(1)]


def test_a_task_whose_inputs_have_finished_is_triggered_itself():
    driver = Driver()
    driver.task_finished("source", 50)
    assert driver.tick(100)[0].tasks == ("map", "source")


def test_a_final_checkpoint_closes_a_bounded_job():
    driver = Driver()
    driver.task_finished("source", 10)
    driver.task_finished("map", 11)
    (trigger,) = driver.task_finished("sink", 12)
    assert (trigger.options.kind, trigger.options.timestamp) == (CheckpointKind.FINAL, 12)
    assert (trigger.checkpoint_id, trigger.tasks) == (1, ("source", "map", "sink"))
    (store,) = driver.acknowledge_all(1, 13)
    assert (store.states, store.finished) == ({task: f"{task}!" for task in TASKS}, frozenset(TASKS))
    assert driver.tick(1000) == [], "nothing follows"
    assert driver.stored(1, 20) == [NotifyComplete(1), FinishJob()]


def test_a_final_checkpoint_waits_for_those_under_way():
    driver = Driver()
    driver.trigger(100)
    driver.acknowledge("source", 1, "s", 101)
    driver.task_finished("source", 102)
    assert driver.task_finished("map", 103)[0].tasks == ("map",)
    assert driver.task_finished("sink", 104)[0].tasks == ("sink",)
    driver.acknowledge("map", 1, "m2", 104)
    (store,) = driver.acknowledge("sink", 1, "k2", 104)
    assert store.options.kind is CheckpointKind.PERIODIC
    assert store.states == {"source": "s", "map": "m2", "sink": "k2"}
    assert store.finished == {"map", "sink"}
    notify, final = driver.stored(1, 105)
    assert notify == NotifyComplete(1)
    assert (final.options.kind, final.tasks) == (CheckpointKind.FINAL, ("source",)), "the others have left theirs"
    (store,) = driver.acknowledge("source", 2, "s2", 106)
    assert store.states == {"source": "s2", "map": "m2", "sink": "k2"}
    assert driver.stored(2, 106) == [NotifyComplete(2), Delete(1), FinishJob()]


def test_where_all_last_states_are_in_a_checkpoint_the_final_one_needs_nobody():
    driver = Driver()
    driver.task_finished("source", 98)
    driver.task_finished("map", 99)
    driver.tick(100)
    driver.task_finished("sink", 101)
    driver.acknowledge_all(1, 102)
    notify, final = driver.stored(1, 103)
    assert (notify, kinds([final])) == (NotifyComplete(1), ["StoreMetadata"])
    assert driver.stored(2, 104) == [NotifyComplete(2), Delete(1), FinishJob()]


def test_a_final_checkpoint_that_fails_is_tried_again_after_an_interval():
    driver = Driver(tolerable_failures=1)
    for task in TASKS:
        driver.task_finished(task, 10)
    driver.acknowledge_all(1, 15)
    assert kinds(driver.store_failed(1, "disk full", 20))[:2] == ["Abort", "Delete"]
    assert driver.next_tick() == 120
    (trigger,) = driver.tick(120)
    assert trigger.options.kind is CheckpointKind.FINAL
    assert kinds(driver.decline("map", 2, "disk full", 130)) == ["Abort", "Delete", "FailJob"]


def test_without_checkpointing_a_bounded_job_just_ends():
    driver = Driver(interval=None)
    assert [action for task in TASKS for action in driver.task_finished(task, 1)] == [FinishJob()]


@pytest.mark.parametrize("end", ["decline", "timeout"])
def test_a_job_whose_input_has_ended_does_not_wait_for_a_savepoint_that_was_given_up(end):
    driver = Driver(interval=None)
    driver.savepoint_requested("me", 0)
    for task in TASKS:
        driver.task_finished(task, 1)
    actions = driver.decline("map", 1, "disk full", 2) if end == "decline" else driver.tick(1000)
    assert kinds(actions) == ["Abort", "Delete", "SavepointFailed", "FinishJob"]


def test_a_job_whose_input_has_ended_takes_its_final_checkpoint_when_the_one_before_is_given_up():
    driver = Driver(tolerable_failures=1)
    driver.trigger(100)
    for task in TASKS:
        driver.task_finished(task, 101)
    *_, trigger = driver.decline("map", 1, "disk full", 102)
    assert (trigger.checkpoint_id, trigger.options.kind) == (2, CheckpointKind.FINAL)


def test_every_order_of_acknowledgements_stores_once_with_everything():
    for order in itertools.permutations(TASKS):
        driver = Driver()
        driver.trigger(100)
        actions = [action for task in order for action in driver.acknowledge(task, 1, task, 101)]
        assert kinds(actions) == ["StoreMetadata"]
        assert actions[0].states == {task: task for task in TASKS}


EVENTS = {
    "ack source": lambda d: d.acknowledge("source", 1, "s", 300),
    "ack map": lambda d: d.acknowledge("map", 1, "m", 300),
    "ack sink": lambda d: d.acknowledge("sink", 1, "k", 300),
    "decline": lambda d: d.decline("map", 1, "no", 300),
    "timeout": lambda d: d.tick(1100),
    "finish": lambda d: d.task_finished("source", 300),
    "failure": lambda d: d.job_failed(300),
}


def test_in_every_order_of_events_a_checkpoint_is_either_stored_or_given_up():
    for order in itertools.permutations(EVENTS):
        driver = Driver(tolerable_failures=9)
        driver.trigger(100)
        log = []
        for name in order:
            log += EVENTS[name](driver)
        stored = [a for a in log if isinstance(a, StoreMetadata) and a.checkpoint_id == 1]
        given_up = [a for a in log if a == Delete(1)]
        assert len(stored) + len(given_up) == 1, order
        if stored:
            # Whatever comes then, the outcome of the publication decides.
            assert stored[0].states.keys() == TASKS.keys()
            assert NotifyComplete(1) not in log
            assert not [a for a in log if isinstance(a, Abort) and a.checkpoint_id == 1]
            assert Recover(None) not in log
            assert Recover(1) in driver.stored(1, 2000)


def test_a_damaged_checkpoint_is_left_for_the_one_before_it():
    driver = Driver(retained=3)
    for now in (100, 200, 300):
        driver.complete(now)
    assert driver.job_failed(400) == [Recover(3)]
    assert driver.checkpoint_damaged(3) == 2
    assert driver.job_failed(401) == [Recover(2)]
    assert driver.retained == (1, 2)
    driver.job_started(TASKS)
    driver.tasks_running(500)
    (trigger,) = driver.tick(600)
    assert (trigger.checkpoint_id, trigger.options.reusable) == (4, 2)


def test_a_claimed_checkpoint_is_retained_and_deleted_like_those_of_the_job():
    coordinator = CheckpointCoordinator(settings(retained=2), 8, claimed=7)
    driver = Driver()
    driver.coordinator = coordinator
    coordinator.job_started(TASKS)
    coordinator.tasks_running(0)
    assert driver.retained == (7,)
    (trigger,) = driver.tick(100)
    assert (trigger.checkpoint_id, trigger.options.reusable) == (8, None), "its files are those of another run"
    driver.acknowledge_all(8, 101)
    assert driver.stored(8, 102) == [NotifyComplete(8)]
    assert driver.retained == (7, 8)
    assert driver.complete(200) == [NotifyComplete(9), Delete(7)]
    assert driver.retained == (8, 9)


def test_a_job_goes_back_to_a_claimed_checkpoint_where_its_own_is_damaged():
    driver = Driver()
    driver.coordinator = CheckpointCoordinator(settings(retained=2), 8, claimed=7)
    driver.coordinator.job_started(TASKS)
    driver.coordinator.tasks_running(0)
    assert driver.job_failed(50) == [Recover(None)], "that is where the job was started from"
    driver.coordinator.job_started(TASKS)
    driver.coordinator.tasks_running(60)
    driver.complete(160)
    assert driver.job_failed(170) == [Recover(8)]
    assert driver.checkpoint_damaged(8) == 7


def test_without_an_older_checkpoint_a_damaged_one_leaves_nothing():
    driver = Driver()
    driver.complete(100)
    assert driver.job_failed(200) == [Recover(1)]
    assert driver.checkpoint_damaged(1) is None


def test_no_checkpoint_begins_after_a_task_has_finished_where_that_is_turned_off():
    driver = Driver({"a": [], "b": []}, after_tasks_finish=False)
    driver.task_finished("a", 50)
    assert driver.next_tick() is None
    assert driver.tick(1000) == []
    assert driver.checkpoint_requested(1001) == []
    (failed,) = driver.savepoint_requested("mine", 1002)
    assert isinstance(failed, SavepointFailed)
    assert "checkpoints-after-tasks-finish.enabled is false" in failed.reason


def test_a_task_that_finishes_during_a_checkpoint_ends_it_where_that_is_turned_off():
    driver = Driver({"a": [], "b": []}, after_tasks_finish=False)
    checkpoint_id = driver.trigger(100)
    driver.acknowledge("b", checkpoint_id, "b!", 101)
    abort, delete = driver.task_finished("a", 102)
    assert (abort.checkpoint_id, delete) == (checkpoint_id, Delete(checkpoint_id))
    assert driver.pending == {}


def test_a_checkpoint_that_a_task_has_acknowledged_goes_on_when_it_finishes():
    driver = Driver({"a": [], "b": []}, after_tasks_finish=False)
    checkpoint_id = driver.trigger(100)
    driver.acknowledge("a", checkpoint_id, "a!", 101)
    assert driver.task_finished("a", 102) == []
    (store,) = driver.acknowledge("b", checkpoint_id, "b!", 103)
    assert store.states == {"a": "a!", "b": "b!"}


def test_a_bounded_job_ends_without_a_final_checkpoint_where_that_is_turned_off():
    driver = Driver(after_tasks_finish=False)
    assert [action for task in TASKS for action in driver.task_finished(task, 1)] == [FinishJob()]


def test_whether_checkpoints_follow_finished_tasks_is_an_option_of_the_job():
    config = CheckpointConfig()
    assert CoordinatorSettings.of(config).after_tasks_finish
    key = "execution.checkpointing.checkpoints-after-tasks-finish.enabled"
    config.configure(Configuration.from_dict({key: "false"}))
    assert not CoordinatorSettings.of(config).after_tasks_finish
