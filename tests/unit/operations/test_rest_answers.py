"""What REST answers, with Flink's names, from what the driver has gathered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.checkpoint.options import CheckpointOptions
from penstock.errors import CheckpointError, JobFailedError
from penstock.operations.rest import checkpoint_answers, diagnosis_answers, job_answers, steering, vertex_answers
from penstock.operations.rest.exchange import Answer, RestError
from penstock.operations.rest.routes import ROUTES, openapi
from penstock.statestore.handles import StoredBytes
from penstock.vocabulary.job import JobStatus
from penstock.vocabulary.settings.modes import CheckpointKind
from tests.unit.operations.served import Served

TRIGGER = "0123456789abcdef0123456789abcdef"


def running() -> Served:
    served = Served()
    source, double = served.vertices
    served.facts.attempt_began(0, None)
    for task in ((0, 0), (1, 0), (1, 1)):
        served.facts.task_registered(task, "worker", 7)
        served.facts.task_running(task)
    served.facts.status_changed(JobStatus.RUNNING)
    report = {"records_in": 10, "records_out": 10, "watermark": 900, "is_idle": False}
    served.facts.task_reported((0, 0), {"subtasks": {source: {**report, "records_in": 30, "records_out": 30}}})
    served.facts.task_reported((1, 0), {"subtasks": {double: report}})
    served.facts.task_reported((1, 1), {"subtasks": {double: {**report, "records_in": 20, "watermark": 700}}})
    served.clock.advance(50)
    return served


def test_jobs_and_their_overview() -> None:
    served = running()
    assert served.ask(job_answers.job_list) == {"jobs": [{"id": served.job.id, "status": "RUNNING"}]}
    (job,) = served.ask(job_answers.job_overview)["jobs"]
    tasks = job.pop("tasks")
    assert job == {
        "jid": served.job.id, "name": served.job.name, "state": "RUNNING", "start-time": 1000, "end-time": -1,
        "duration": 50, "last-modification": 1000, "pending-operators": 0, "jobType": "STREAMING",
        "schedulerType": "Default",
    }  # fmt: skip
    assert (tasks["total"], tasks["running"], tasks["finished"]) == (3, 3, 0)


def test_the_driver_overview_counts_jobs_and_slots() -> None:
    served = running()
    served.facts.slots = 8
    found = served.ask(job_answers.driver_overview)
    assert {key: found[key] for key in ("jobs-running", "jobs-finished", "slots-total", "slots-available")} == {
        "jobs-running": 1, "jobs-finished": 0, "slots-total": 8, "slots-available": 5
    }  # fmt: skip


def test_the_details_of_a_job_hold_its_plan_its_vertices_and_its_times() -> None:
    served = running()
    found = served.ask(job_answers.job_details)
    assert (found["jid"], found["state"], found["now"], found["timestamps"]["RUNNING"]) == (
        served.job.id, "RUNNING", 1050, 1000
    )  # fmt: skip
    source, double = found["vertices"]
    assert all(re.fullmatch("[0-9a-f]{32}", vertex["id"]) for vertex in (source, double))
    assert (source["parallelism"], double["parallelism"], double["name"]) == (1, 2, "Double")
    assert (double["status"], double["tasks"]["RUNNING"], double["duration"]) == ("RUNNING", 2, 50)
    assert (double["metrics"]["read-records"], double["metrics"]["write-records"]) == (30, 20)
    assert double["metrics"]["read-records-complete"]
    first, second = found["plan"]["nodes"]
    assert first["inputs"] == []
    assert [(each["id"], each["ship_strategy"]) for each in second["inputs"]] == [(source["id"], "HASH")]


def test_a_finished_job_has_an_end_and_a_result() -> None:
    served = running()
    assert served.ask(job_answers.execution_result) == {"status": {"id": "IN_PROGRESS"}}
    served.facts.status_changed(JobStatus.FINISHED)
    result = served.ask(job_answers.execution_result)["job-execution-result"]
    assert (result["application-status"], result["net-runtime"]) == ("SUCCEEDED", 50)
    assert served.ask(job_answers.job_details)["end-time"] == 1050


def test_exceptions_are_the_newest_first_and_say_when_some_are_left_out() -> None:
    served = running()
    for text in ("first", "second"):
        served.facts.attempt_ended(JobFailedError(text))
    found = served.ask(job_answers.exceptions, query={"maxExceptions": "1"}).body["exceptionHistory"]
    assert [each["stacktrace"] for each in found["entries"]] == ["second"]
    assert found["truncated"]
    with pytest.raises(RestError, match="a number"):
        served.ask(job_answers.exceptions, query={"maxExceptions": "-1"})


def test_checkpoints_with_counts_figures_and_the_latest_of_each_kind() -> None:
    served = running()
    history = served.facts.checkpoints
    for number, (size, end) in enumerate([(10, 1010), (30, 1030)], 1):
        history.begun(number, CheckpointOptions(timestamp=1000))
        history.acknowledged(number, (served.vertices[1], 1), [StoredBytes("f", size, None)], end - 1)
        history.done(number, f"/c/chk-{number}", end)
    history.begun(3, CheckpointOptions(kind=CheckpointKind.SAVEPOINT, timestamp=1040))
    history.restored_from(9, "/s/old", 900, is_savepoint=True)
    found = served.ask(checkpoint_answers.checkpoint_overview)
    assert found["counts"] == {"restored": 1, "total": 3, "in_progress": 1, "completed": 2, "failed": 0}
    sizes = found["summary"]["state_size"]
    assert (sizes["min"], sizes["max"], sizes["avg"], sizes["p50"], sizes["p99"]) == (10, 30, 20, 10, 30)
    assert found["latest"]["completed"]["external_path"] == "/c/chk-2"
    assert found["latest"]["restored"]["external_path"] == "/s/old"
    assert [(each["id"], each["status"], each["checkpoint_type"]) for each in found["history"]] == [
        (3, "IN_PROGRESS", "SAVEPOINT"), (2, "COMPLETED", "CHECKPOINT"), (1, "COMPLETED", "CHECKPOINT")
    ]  # fmt: skip


def test_a_checkpoint_down_to_its_subtasks() -> None:
    served = running()
    history = served.facts.checkpoints
    double = served.vertices[1]
    history.begun(1, CheckpointOptions(timestamp=1000))
    history.acknowledged(1, (double, 1), [StoredBytes("f", 12, None)], 1020)
    vertex = served.ask(job_answers.job_details)["vertices"][1]["id"]
    details = served.ask(checkpoint_answers.checkpoint_details, checkpoint="1")
    assert details["tasks"][vertex]["num_acknowledged_subtasks"] == 1
    found = served.ask(checkpoint_answers.checkpoint_subtasks, checkpoint="1", vertex=vertex)
    assert [each["status"] for each in found["subtasks"]] == ["pending_or_failed", "completed"]
    assert (found["subtasks"][1]["state_size"], found["subtasks"][1]["end_to_end_duration"]) == (12, 20)
    with pytest.raises(RestError) as refused:
        served.ask(checkpoint_answers.checkpoint_details, checkpoint="2")
    assert refused.value.status == 404


def test_a_vertex_with_its_subtasks_watermarks_and_times() -> None:
    served = running()
    vertex = served.ask(job_answers.job_details)["vertices"][1]["id"]
    assert [each["status"] for each in served.ask(vertex_answers.vertex_details, vertex=vertex)["subtasks"]] == [
        "RUNNING", "RUNNING"
    ]  # fmt: skip
    assert served.ask(vertex_answers.vertex_watermarks, vertex=vertex) == [
        {"id": "0.currentInputWatermark", "value": "900"},
        {"id": "1.currentInputWatermark", "value": "700"},
    ]
    times = served.ask(vertex_answers.subtask_times, vertex=vertex)["subtasks"][0]["timestamps"]
    assert times == {"SCHEDULED": 1000, "INITIALIZING": 1000, "RUNNING": 1000}
    assert served.ask(vertex_answers.subtask_details, vertex=vertex, subtask="1")["endpoint"] == "worker"
    for subtask, status in (("2", 404), ("x", 400)):
        with pytest.raises(RestError) as refused:
            served.ask(vertex_answers.subtask_details, vertex=vertex, subtask=subtask)
        assert refused.value.status == status


def test_top_has_the_step_that_is_furthest_behind_first() -> None:
    served = running()
    found = served.ask(diagnosis_answers.top)
    assert [(each["name"], each["records-in"], each["watermark-lag"]) for each in found["steps"]] == [
        ("Double", 30, 350), (served.job.plan.vertices[served.vertices[0]].name, 30, 150)
    ]  # fmt: skip


def test_late_records_are_counted_by_step() -> None:
    served = running()
    served.facts.task_reported((1, 0), {"metrics": {"Window.0.numLateRecordsDropped": 2}})
    served.facts.task_reported((1, 1), {"metrics": {"Window.1.numLateRecordsDropped": 3}})
    assert served.ask(diagnosis_answers.late) == {"dropped": [{"step": "Window", "records": 5}]}


def test_a_job_or_vertex_that_is_not_there_is_not_found() -> None:
    served = running()
    for answer, path in (
        (job_answers.job_details, {"job": "0" * 32}),
        (vertex_answers.vertex_details, {"vertex": "x"}),
    ):
        with pytest.raises(RestError) as refused:
            served.ask(answer, **path)
        assert refused.value.status == 404


def test_a_savepoint_is_begun_once_for_each_trigger_id_and_asked_about_under_it() -> None:
    served = running()
    for _ in range(2):
        begun = served.ask(steering.take_savepoint, body={"triggerId": TRIGGER})
        assert begun == Answer({"request-id": TRIGGER}, 202)
    assert served.control.calls == [("savepoint", None)]
    asked = served.ask(steering.ask_savepoint, trigger=TRIGGER)
    assert asked == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    served.control.outcome.set_result("/s/savepoint-1")
    asked = served.ask(steering.ask_savepoint, trigger=TRIGGER)
    assert asked == {"status": {"id": "COMPLETED"}, "operation": {"location": "/s/savepoint-1"}}


def test_a_savepoint_that_fails_says_why_without_passwords() -> None:
    served = running()
    served.ask(steering.stop, body={"drain": True, "triggerId": TRIGGER})
    served.control.outcome.set_exception(CheckpointError("no s3://user:hunter2@bucket"))
    cause = served.ask(steering.ask_savepoint, trigger=TRIGGER)["operation"]["failure-cause"]
    assert served.control.calls == [("stop", None, True)]
    assert cause["class"] == "CheckpointError"
    assert "hunter2" not in cause["stack-trace"]


def test_checkpoints_are_taken_as_configured_or_full() -> None:
    served = running()
    served.ask(steering.take_checkpoint)
    served.ask(steering.take_checkpoint, body={"checkpointType": "FULL"})
    assert served.control.calls == [("checkpoint", False), ("checkpoint", True)]


def test_savepoints_go_below_configured_directories_only(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    served = Served(
        execution_checkpointing_savepoint__dir=f"file://{tmp_path}/own",
        penstock_rest_savepoint__directories=str(tmp_path / "more"),
    )
    for fine in (f"{tmp_path}/own", f"file://{tmp_path}/own/a", f"{tmp_path}/more/b"):
        served.ask(steering.take_savepoint, body={"target-directory": fine})
    for wrong in ("/", f"{tmp_path}/own/../x", f"{tmp_path}/owner", f"{tmp_path}/link/tmp", "s3://bucket/own", "own"):
        with pytest.raises(RestError, match="Savepoints may be written") as refused:
            served.ask(steering.take_savepoint, body={"target-directory": wrong})
        assert refused.value.status == 403
        with pytest.raises(RestError, match="Savepoints may be written"):
            served.ask(steering.dispose_savepoint, body={"savepoint-path": wrong})


@pytest.mark.parametrize(
    "body",
    [
        {"target-directory": 1}, {"cancel-job": "yes"}, {"triggerId": "x"}, {"triggerId": []}, {"formatType": "NATIVE"},
    ],
)  # fmt: skip
def test_what_a_savepoint_cannot_be_is_refused(body: dict[str, object]) -> None:
    served = running()
    with pytest.raises(RestError) as refused:
        served.ask(steering.take_savepoint, body=body)
    assert (refused.value.status, served.control.calls) == (400, [])


def test_a_job_that_has_ended_takes_no_savepoint() -> None:
    served = running()
    served.facts.status_changed(JobStatus.FAILED)
    with pytest.raises(RestError, match="has ended: FAILED") as refused:
        served.ask(steering.take_savepoint)
    assert refused.value.status == 409


def test_the_description_lists_every_path_and_says_which_need_the_token() -> None:
    paths = openapi("1")["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == {
        (route.method, f"/v1{route.path}") for route in ROUTES
    }
    protected = {
        (method, path) for path, methods in paths.items() for method, each in methods.items() if "security" in each
    }
    assert {method for method, _ in protected} == {"post", "patch"}
