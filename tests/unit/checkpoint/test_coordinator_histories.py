"""The coordinator under arbitrary histories: whatever happens in whatever order, the rules of exactly-once hold."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.checkpoint.coordinator import CheckpointCoordinator
from penstock.checkpoint.coordinator_messages import CoordinatorSettings
from penstock.vocabulary.settings.modes import CheckpointKind

TASKS = {"a": (), "b": (), "join": ("a", "b"), "sink": ("join",)}


class CheckpointHistory(RuleBasedStateMachine):
    """Plays the driver, the tasks and the storage, and checks every action of the coordinator."""

    @initialize(
        concurrent=st.integers(1, 3),
        pause=st.sampled_from([0, 0, 30]),
        retained=st.integers(1, 3),
        tolerable=st.integers(0, 2),
        interval=st.sampled_from([50, None]),
    )
    def start(self, concurrent, pause, retained, tolerable, interval):
        self.settings = CoordinatorSettings(interval, 200, pause, concurrent, tolerable, retained)
        self.coordinator = CheckpointCoordinator(self.settings)
        self.now = 0
        self.triggered = {}  # checkpoint -> options
        self.storing = {}
        self.stored = []  # checkpoints that can be recovered from, as published
        self.savepoints = []
        self.existing = set()  # published and not deleted
        self.aborted = set()
        self.deleted = set()
        self.notified = []
        self.requests = set()
        self.last_trigger = None
        self.last_end = None
        self.is_over = False
        self.launch()

    def launch(self):
        self.coordinator.job_started(TASKS)
        self.coordinator.tasks_running(self.now)
        self.running = True
        self.wants_failure = False
        self.finished = set()
        self.snapshots = {}  # checkpoint -> tasks that took their snapshot and have not answered
        self.last = {}  # the states of finished tasks that are part of a complete checkpoint
        self.parts = {}  # checkpoint -> the states of finished tasks in it
        self.last_trigger = self.last_end = None

    def perform(self, actions):
        for action in actions:
            getattr(self, "on_" + type(action).__name__)(action)

    def on_Trigger(self, action):
        number, kind = action.checkpoint_id, action.options.kind
        assert not set(action.tasks) & self.last.keys(), "who has left its last state is not asked again"
        if number in self.triggered:
            assert set(action.tasks) <= self.finished, "only who has finished meanwhile is asked by itself"
            self.snapshots.setdefault(number, set()).update(action.tasks)
            return
        assert number > max(self.triggered, default=0), "ids only grow"
        assert self.running
        assert self.finished - self.last.keys() <= set(action.tasks), "no barrier reaches who has finished"
        assert action.tasks
        if kind is CheckpointKind.PERIODIC:
            pending = [each for each in self.coordinator.pending if each != number]
            assert len(pending) < self.settings.max_concurrent
            if self.last_trigger is not None:
                assert self.now - self.last_trigger >= self.settings.interval
            if self.last_end is not None:
                assert self.now - self.last_end >= self.settings.min_pause
            self.last_trigger = self.now
        self.triggered[number] = action.options
        if kind is CheckpointKind.FINAL:
            assert self.finished == set(TASKS)
        self.snapshots[number] = set(TASKS) - self.last.keys()

    def on_StoreMetadata(self, action):
        number = action.checkpoint_id
        assert number not in self.storing, "published once"
        assert number not in self.existing | self.aborted
        assert set(action.states) == set(TASKS), "every task has a part"
        assert all(action.states[task] == state for task, state in self.last.items()), "the last state is the last"
        if number not in self.triggered:
            assert action.options.kind is CheckpointKind.FINAL, "everybody has left a last state before"
            self.triggered[number] = action.options
        self.storing[number] = action.options.kind
        self.parts[number] = {task: action.states[task] for task in action.finished}

    def on_NotifyComplete(self, action):
        number = action.checkpoint_id
        assert number in self.existing, "announced after it is published"
        assert self.triggered[number].kind is not CheckpointKind.SAVEPOINT, "sinks do not commit with a savepoint"
        assert number > max(self.notified, default=0)
        assert self.running
        self.notified.append(number)

    def on_Abort(self, action):
        number = action.checkpoint_id
        assert number in self.triggered
        assert number not in self.existing | self.aborted | set(self.storing)
        self.aborted.add(number)
        self.snapshots.pop(number, None)

    def on_Delete(self, action):
        number = action.checkpoint_id
        assert number not in self.deleted, "deleted once"
        assert number not in self.savepoints, "savepoints belong to the user"
        assert number not in self.storing
        if number in self.existing:
            assert any(newer > number for newer in self.stored if newer in self.existing), "the newest one stays"
        elif not self.triggered[number].kind.is_savepoint:
            self.last_end = self.now
        self.existing.discard(number)
        self.deleted.add(number)

    def on_Discard(self, action):
        assert action.checkpoint_id not in self.existing | set(self.storing)

    def on_SavepointDone(self, action):
        assert action.checkpoint_id in self.savepoints
        self.requests.remove(action.request)

    def on_SavepointFailed(self, action):
        self.requests.remove(action.request)

    def on_FailJob(self, action):
        self.wants_failure = True

    def on_FinishJob(self, action):
        assert self.finished == set(TASKS)
        assert not self.coordinator.pending
        newest = max(self.stored, default=None)
        if self.settings.interval is not None:
            assert self.triggered[newest].kind in (CheckpointKind.FINAL, CheckpointKind.STOP)
            assert newest in self.notified or not self.running
        self.is_over = True

    def on_Recover(self, action):
        assert not self.running
        assert not self.storing, "no publication is undecided"
        assert action.checkpoint_id == max(self.stored, default=None)
        assert action.checkpoint_id is None or action.checkpoint_id in self.existing
        self.launch()

    # What may happen

    @rule(millis=st.sampled_from([1, 30, 50, 60, 250]))
    def time_passes(self, millis):
        self.now += millis
        if self.running and not self.is_over:
            self.perform(self.coordinator.tick(self.now))

    @precondition(lambda self: not self.is_over and self.running and self.snapshots)
    @rule(data=st.data())
    def a_task_answers(self, data):
        number = data.draw(st.sampled_from(sorted(self.snapshots)))
        task = data.draw(st.sampled_from(sorted(self.snapshots[number])))
        self.snapshots[number].discard(task)
        if not self.snapshots[number]:
            del self.snapshots[number]
        if data.draw(st.integers(0, 9)):
            self.perform(self.coordinator.acknowledge(task, number, (number, task), self.now))
        else:
            self.perform(self.coordinator.decline(task, number, "no", self.now))

    @precondition(lambda self: not self.is_over and self.running)
    @rule(data=st.data())
    def a_task_finishes(self, data):
        ready = [task for task, inputs in TASKS.items() if task not in self.finished and self.finished >= set(inputs)]
        if not ready:
            return
        task = data.draw(st.sampled_from(ready))
        self.finished.add(task)
        for number in list(self.snapshots):  # it finishes without having seen the barrier
            self.snapshots[number].discard(task)
            if not self.snapshots[number]:
                del self.snapshots[number]
        self.perform(self.coordinator.task_finished(task, self.now))

    @precondition(lambda self: self.storing)
    @rule(data=st.data())
    def a_publication_is_decided(self, data):
        number = data.draw(st.sampled_from(sorted(self.storing)))
        kind = self.storing.pop(number)
        if data.draw(st.integers(0, 4)):
            self.existing.add(number)
            if kind.is_savepoint:
                self.savepoints.append(number)
            else:
                self.last_end = self.now
                self.last |= self.parts.get(number, {}) if self.running else {}
            if kind is not CheckpointKind.SAVEPOINT:
                self.stored.append(number)
            self.perform(self.coordinator.stored(number, self.now))
        else:
            self.perform(self.coordinator.store_failed(number, "disk full", self.now))

    @precondition(lambda self: not self.is_over and self.running)
    @rule(stop=st.booleans(), drain=st.booleans())
    def a_savepoint_is_asked_for(self, stop, drain):
        request = object()
        self.requests.add(request)
        self.perform(self.coordinator.savepoint_requested(request, self.now, stop=stop, drain=stop and drain))

    @precondition(lambda self: not self.is_over and self.running)
    @rule()
    def the_job_fails(self):
        self.running = False
        self.perform(self.coordinator.job_failed(self.now))

    @precondition(lambda self: not self.is_over and self.running and self.wants_failure)
    @rule()
    def the_coordinator_has_it_its_way(self):
        self.the_job_fails()

    # What always holds

    @invariant()
    def the_newest_checkpoints_are_retained(self):
        if not hasattr(self, "coordinator"):
            return
        periodic = [each for each in self.stored if not self.triggered[each].kind.is_savepoint]
        kept = sorted(set(periodic) & self.existing)
        assert tuple(kept) == self.coordinator.retained
        assert len(kept) <= self.settings.retained
        if self.stored:
            assert max(self.stored) in self.existing, "what the job would recover from is there"

    @invariant()
    def every_checkpoint_is_somewhere(self):
        if hasattr(self, "coordinator"):
            pending = set(self.coordinator.pending)
            for number in self.triggered:
                assert (number in pending) + (number in self.existing) + (number in self.deleted) == 1
            assert set(self.storing) <= pending

    @invariant()
    def every_request_is_answered_once(self):
        if hasattr(self, "coordinator"):
            waiting = [each for each in self.coordinator.pending.values() if each.kind.is_savepoint]
            assert len(waiting) == len(self.requests)


CheckpointHistory.TestCase.settings = settings(max_examples=40, stateful_step_count=50, deadline=None)
test_histories = CheckpointHistory.TestCase
