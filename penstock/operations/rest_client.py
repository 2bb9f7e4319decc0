"""Asks the driver of a job over REST: for the command line, with the standard library alone."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from penstock.errors import PenstockError
from penstock.foundation.clock import monotonic_seconds, pause

__all__ = ["RefusedError", "RestClient", "UnreachableError"]

_TIMEOUT_SECONDS = 30.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


class UnreachableError(PenstockError):
    """The driver of a job does not answer."""


class RefusedError(PenstockError):
    """The driver of a job has refused what it was asked for, or has failed to do it."""


class RestClient:
    """Speaks to one driver.

    Args:
        address: Where it answers, for example ``http://localhost:8081``.
        token: What is shown where something is to be changed.
        certificate: The file with the certificate that is trusted beside those of the system.
    """

    def __init__(self, address: str, token: str | None = None, certificate: str | None = None) -> None:
        self.address = address.rstrip("/")
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if certificate is not None:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str) -> Any:
        """Return the answer to a question.

        Raises:
            UnreachableError: Nobody answers.
            RefusedError: The answer is a refusal.
        """
        return self._ask("GET", path, None)

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Have something done and return the answer; raises like ``get``."""
        return self._ask(method, path, body)

    def wait_for(self, path: str, seconds: float | None = None) -> dict[str, Any]:
        """Ask about an operation until it is done, and return its result.

        Raises:
            RefusedError: It failed, or takes longer than it may.
            UnreachableError: The driver has gone meanwhile.
        """
        deadline = None if seconds is None else monotonic_seconds() + seconds
        wait = _FIRST_PAUSE
        while True:
            answer = self.get(path)
            if answer["status"]["id"] == "COMPLETED":
                operation: dict[str, Any] = answer["operation"]
                if "failure-cause" in operation:
                    raise RefusedError(str(operation["failure-cause"]["stack-trace"]))
                return operation
            if deadline is not None and monotonic_seconds() > deadline:
                message = f"It is still under way after {seconds} s; ask for {self.address}{path}."
                raise RefusedError(message)
            pause(wait)
            wait = min(wait * 1.5, _LONGEST_PAUSE)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        if self._token is not None and method != "GET":
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                raise RefusedError(_message(error)) from None
        except (OSError, ValueError) as error:
            message = f"The driver at {self.address} does not answer: {getattr(error, 'reason', error)}"
            raise UnreachableError(message) from None


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return "\n".join(map(str, json.loads(error.read())["errors"]))
    except (OSError, ValueError, KeyError, TypeError):
        return f"The driver answers with the status {error.code}."
