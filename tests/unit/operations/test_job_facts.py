"""What the driver gathers about a job: states with times, attempts, failures, subtasks; without secrets."""

from __future__ import annotations

from penstock.errors import JobFailedError
from penstock.vocabulary.job import JobStatus
from tests.unit.operations.served import Served


def test_each_state_has_the_time_when_it_was_last_entered() -> None:
    served = Served()
    for status, millis in ((JobStatus.RUNNING, 5), (JobStatus.RESTARTING, 10), (JobStatus.RUNNING, 20)):
        served.clock.advance(millis)
        served.facts.status_changed(status)
    assert served.facts.times == {"INITIALIZING": 1000, "CREATED": 1000, "RUNNING": 1035, "RESTARTING": 1015}
    assert served.facts.ended is None
    served.facts.status_changed(JobStatus.FINISHED)
    assert served.facts.ended == 1035


def test_subtasks_follow_their_task_and_a_new_attempt_begins_with_all_of_them_scheduled() -> None:
    served = Served()
    source, double = served.vertices
    served.facts.attempt_began(0, None)
    served.facts.task_registered((1, 1), "worker", 77)
    served.facts.task_running((1, 1))
    assert served.facts.subtasks[double, 1].state == "RUNNING"
    assert (served.facts.subtasks[double, 1].host, served.facts.subtasks[double, 1].process) == ("worker", 77)
    assert served.facts.subtasks[double, 0].state == "SCHEDULED"
    served.facts.task_ended((1, 1), "FAILED")
    served.facts.attempt_ended(JobFailedError("no"))
    assert {key: each.state for key, each in served.facts.subtasks.items()} == {
        (source, 0): "CANCELED", (double, 0): "CANCELED", (double, 1): "FAILED"
    }  # fmt: skip
    served.facts.attempt_began(1, 7)
    assert {each.state for each in served.facts.subtasks.values()} == {"SCHEDULED"}
    assert [(each.number, each.restored_from) for each in served.facts.attempts] == [(0, None), (1, 7)]


def test_a_failure_is_told_with_its_subtask_and_without_passwords() -> None:
    served = Served()
    served.facts.attempt_began(0, None)
    served.facts.task_registered((1, 1), "worker", 77)
    served.facts.task_ended((1, 1), "FAILED")
    served.clock.advance(5)
    served.facts.attempt_ended(JobFailedError("cannot reach mysql://clerk:hunter2@db/shop"))
    (failure,) = served.facts.failures
    assert (failure.timestamp, failure.name, failure.task, failure.host) == (
        1005, "JobFailedError", "Double (2/2)", "worker"
    )  # fmt: skip
    assert failure.text == "cannot reach mysql://clerk:******@db/shop"


def test_failures_beyond_the_limit_are_counted_only() -> None:
    served = Served()
    for number in range(20):
        served.facts.attempt_began(number, None)
        served.facts.attempt_ended(JobFailedError(str(number)))
    assert [each.text for each in served.facts.failures] == [str(number) for number in range(4, 20)]
    assert served.facts.failure_count == 20


def test_a_subtask_that_has_processed_its_input_is_finished_before_its_task_ends() -> None:
    served = Served()
    source, _ = served.vertices
    served.facts.task_running((0, 0))
    served.facts.task_reported((0, 0), {"subtasks": {source: {"records_in": 3, "is_finished": True}}, "metrics": {}})
    assert served.facts.subtasks[source, 0].state == "FINISHED"


def test_counters_are_summed_over_subtasks() -> None:
    served = Served()
    served.facts.task_reported((1, 0), {"metrics": {"Double.0.seen": 3, "Double.0.note": "text"}})
    served.facts.task_reported((1, 1), {"metrics": {"Double.1.seen": 4}})
    assert served.facts.accumulators() == {"seen": 7}


def test_the_configuration_shows_no_secret() -> None:
    served = Served(my_password="hunter2", my_name="x")
    assert served.facts.configuration() == {"my.name": "x", "my.password": "******"}


def test_listeners_are_told_of_every_state() -> None:
    served = Served()
    seen: list[JobStatus] = []
    served.facts.on_status(seen.append)
    served.facts.status_changed(JobStatus.RUNNING)
    served.facts.status_changed(JobStatus.CANCELED)
    assert seen == [JobStatus.RUNNING, JobStatus.CANCELED]
