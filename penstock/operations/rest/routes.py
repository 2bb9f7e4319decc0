"""All paths of the interface, each with who answers; its description for tools is made from the same table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.operations.rest import checkpoint_answers, diagnosis_answers, job_answers, steering, vertex_answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.operations.rest.exchange import Question
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = ["ROUTES", "RestRoute", "openapi"]

_PARAMETER = re.compile(r"{(\w+)}")


class RestRoute(NamedTuple):
    """One path."""

    method: str
    path: str
    answer: Callable[[ServedJobs, Question], Any]
    query: tuple[str, ...] = ()
    body: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    """The fields that the body may have, with their types."""

    @property
    def changes(self) -> bool:
        """Tell whether it changes something, so that it needs the token."""
        return self.method != "GET"


_JOB = "/jobs/{job}"
_VERTEX = _JOB + "/vertices/{vertex}"
_SAVEPOINT = {"formatType": "string", "triggerId": "string"}

ROUTES = (
    RestRoute("GET", "/overview", job_answers.driver_overview),
    RestRoute("GET", "/config", job_answers.driver_configuration),
    RestRoute("GET", "/jobmanager/config", job_answers.configuration),
    RestRoute("GET", "/taskmanagers", vertex_answers.workers),
    RestRoute("GET", "/jobs", job_answers.job_list),
    RestRoute("GET", "/jobs/overview", job_answers.job_overview),
    RestRoute("GET", _JOB, job_answers.job_details),
    RestRoute("PATCH", _JOB, steering.cancel, ("mode",)),
    RestRoute("GET", _JOB + "/status", job_answers.job_status),
    RestRoute("GET", _JOB + "/plan", job_answers.job_plan),
    RestRoute("GET", _JOB + "/config", job_answers.job_configuration),
    RestRoute("GET", _JOB + "/accumulators", job_answers.accumulators),
    RestRoute("GET", _JOB + "/execution-result", job_answers.execution_result),
    RestRoute("GET", _JOB + "/exceptions", job_answers.exceptions, ("maxExceptions",)),
    RestRoute("GET", _JOB + "/checkpoints", checkpoint_answers.checkpoint_overview),
    RestRoute("GET", _JOB + "/checkpoints/config", checkpoint_answers.checkpoint_configuration),
    RestRoute("GET", _JOB + "/checkpoints/details/{checkpoint}", checkpoint_answers.checkpoint_details),
    RestRoute(
        "GET", _JOB + "/checkpoints/details/{checkpoint}/subtasks/{vertex}", checkpoint_answers.checkpoint_subtasks
    ),
    RestRoute(
        "POST",
        _JOB + "/checkpoints",
        steering.take_checkpoint,
        body={"checkpointType": "string", "triggerId": "string"},
    ),
    RestRoute("GET", _JOB + "/checkpoints/{trigger}", steering.ask_checkpoint),
    RestRoute(
        "POST",
        _JOB + "/savepoints",
        steering.take_savepoint,
        body={"target-directory": "string", "cancel-job": "boolean", **_SAVEPOINT},
    ),
    RestRoute("GET", _JOB + "/savepoints/{trigger}", steering.ask_savepoint),
    RestRoute(
        "POST", _JOB + "/stop", steering.stop, body={"targetDirectory": "string", "drain": "boolean", **_SAVEPOINT}
    ),
    RestRoute(
        "POST",
        "/savepoint-disposal",
        steering.dispose_savepoint,
        body={"savepoint-path": "string", "triggerId": "string"},
    ),
    RestRoute("GET", "/savepoint-disposal/{trigger}", steering.ask_disposal),
    RestRoute("GET", _JOB + "/why-no-output", diagnosis_answers.why_no_output),
    RestRoute("GET", _JOB + "/late", diagnosis_answers.late),
    RestRoute("GET", _JOB + "/guarantee", diagnosis_answers.guarantee),
    RestRoute("GET", _JOB + "/top", diagnosis_answers.top),
    RestRoute("GET", _VERTEX, vertex_answers.vertex_details),
    RestRoute("GET", _VERTEX + "/watermarks", vertex_answers.vertex_watermarks),
    RestRoute("GET", _VERTEX + "/subtasktimes", vertex_answers.subtask_times),
    RestRoute("GET", _VERTEX + "/taskmanagers", vertex_answers.vertex_workers),
    RestRoute("GET", _VERTEX + "/subtasks/{subtask}", vertex_answers.subtask_details),
)


def openapi(version: str) -> dict[str, Any]:
    """Return the description of the interface in the form of OpenAPI 3.1."""
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(f"/v1{route.path}", {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock",
            "version": version,
            "description": "Jobs of one driver; Flink's paths and names.",
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _operation(route: RestRoute) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    parameters = [{"name": name, "in": "path", "required": True, **text} for name in _PARAMETER.findall(route.path)]
    parameters += [{"name": name, "in": "query", **text} for name in route.query]
    described: dict[str, Any] = {
        "operationId": f"{route.answer.__module__.rpartition('.')[2]}.{route.answer.__name__}",
        "summary": (route.answer.__doc__ or "").partition("\n")[0],
        "parameters": parameters,
        "responses": {"202" if route.changes else "200": {"description": "As Flink answers, in JSON."}},
    }
    if route.body:
        properties = {name: {"type": kind} for name, kind in route.body.items()}
        schema = {"type": "object", "properties": properties}
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if route.changes:
        described["security"] = [{"token": []}]
    return described
