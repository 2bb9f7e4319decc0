"""Who may ask what: looks at each request before anything else does.

A page of another site, opened in the browser of somebody who can reach the driver, must not get anything out of it:
the name in ``Host`` has to be one of ours, and an ``Origin`` the server's own. What changes something needs the token.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import TypeAlias

    from penstock.operations.access_token import AccessToken

    Message: TypeAlias = MutableMapping[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    Application: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

__all__ = ["MOST_BODY_BYTES", "Guard"]

MOST_BODY_BYTES = 1 << 16
_READING = ("GET", "HEAD")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'"),
)


class Guard:
    """Stands before an application and refuses what must not reach it."""

    def __init__(self, application: Application, token: AccessToken, names: set[str]) -> None:
        self._application = application
        self._token = token
        self._names = _LOCAL_NAMES | {name.lower() for name in names}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._application(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _name_in(host) not in self._names:
            return 421, f"This is not {host!r}; rest.address sets the name of the driver."
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, "Pages of other sites get nothing from here."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:12]) > MOST_BODY_BYTES:
            return 413, f"A request has at most {MOST_BODY_BYTES} bytes."
        if scope["method"] not in _READING and not self._token.is_shown_in(headers.get("authorization")):
            return 401, "This changes something: it needs 'Authorization: Bearer TOKEN' with the token of the driver."
        return None


def _name_in(host: str) -> str:
    """Return the name in a header ``Host``, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _limited(receive: Receive) -> Receive:
    """Return how to receive a body of which too much is never kept; a chunked one has told no length."""
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BODY_BYTES:
            return {"type": "http.disconnect"}
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str) -> None:
    body = json.dumps({"errors": [text]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
