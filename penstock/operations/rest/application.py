"""The interface as a web application: finds who answers a request, and writes answers and refusals as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from penstock.operations.rest.exchange import Answer, Question, RestError
from penstock.operations.rest.guard import MOST_BODY_BYTES, Guard
from penstock.operations.rest.routes import ROUTES, RestRoute, openapi

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.operations.access_token import AccessToken
    from penstock.operations.rest.served_jobs import ServedJobs

__all__ = ["rest_application"]

_log = logging.getLogger("penstock.rest")
_FAILED = "The driver cannot answer this; its log says why."
_REFUSED = {404: "There is nothing at this path; /openapi.json lists all.", 405: "This path has another method."}


def rest_application(jobs: ServedJobs, token: AccessToken, names: set[str], version: str) -> Guard:
    """Return the application that answers for the jobs of a driver; ``names`` are those under which it is reached."""
    # Here, as few processes are drivers that serve, and the packages may be missing in the others.
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    description = openapi(version)

    async def describe(_: Request) -> Response:
        return _json(description)

    routes = []
    for prefix in ("", "/v1"):
        routes.append(Route(f"{prefix}/openapi.json", describe, methods=["GET"]))
        routes += [Route(prefix + each.path, _endpoint(jobs, each), methods=[each.method]) for each in ROUTES]
    application = Starlette(routes=routes, exception_handlers={HTTPException: _refuse, Exception: _fail})
    return Guard(application, token, names)


def _endpoint(jobs: ServedJobs, route: RestRoute) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            body = await _body(request) if route.changes else {}
            question = Question(dict(request.path_params), dict(request.query_params), body)
            # In a thread: some answers wait for a lock of the driver, or for storage.
            answer = await asyncio.to_thread(route.answer, jobs, question)
        except RestError as error:
            return _json({"errors": [str(error)]}, error.status)
        except Exception:
            _log.exception("%s %s cannot be answered", route.method, route.path)
            return _json({"errors": [_FAILED]}, 500)
        return _json(answer.body, answer.status) if isinstance(answer, Answer) else _json(answer)

    return endpoint


async def _body(request: Request) -> dict[str, Any]:
    from starlette.requests import ClientDisconnect

    try:
        data = await request.body()
    except ClientDisconnect:
        raise RestError(413, f"A request has at most {MOST_BODY_BYTES} bytes.") from None
    if not data:
        return {}
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise RestError(400, "The body is not JSON.") from None
    if not isinstance(body, dict):
        raise RestError(400, "The body has to be a JSON object.")
    return body


async def _refuse(_: Request, error: Exception) -> Response:
    status: int = getattr(error, "status_code", 500)
    return _json({"errors": [_REFUSED.get(status, str(error))]}, status)


async def _fail(_: Request, error: Exception) -> Response:
    _log.error("a request cannot be answered", exc_info=error)
    return _json({"errors": [_FAILED]}, 500)


def _json(body: Any, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(json.dumps(body, ensure_ascii=False, default=str), status, media_type="application/json")
