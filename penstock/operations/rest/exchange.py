"""A question to the driver and its answer, without HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Answer", "Question", "RestError"]


class RestError(Exception):
    """A question that is not answered.

    Args:
        status: The HTTP status.
        message: What is wrong, and what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Question:
    """What somebody wants to know, or to have done."""

    path: Mapping[str, str] = field(default_factory=dict)
    """The parts of the path that stand for something: the job, the vertex."""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *names: str) -> str | None:
        """Return a text of the body under any of its names; raises what is answered to anything else."""
        for name in names:
            value = self.body.get(name)
            if value is not None and not isinstance(value, str):
                raise RestError(400, f"{name!r} has to be a text.")
            if value:
                return value
        return None

    def flag(self, name: str) -> bool:
        """Return a truth value of the body; raises what is answered to anything else."""
        value = self.body.get(name, False)
        if not isinstance(value, bool):
            raise RestError(400, f"{name!r} has to be true or false.")
        return value

    def number(self, name: str) -> int:
        """Return a number in the path; raises what is answered to anything else."""
        text = self.path[name]
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise RestError(400, f"{text!r} in the path has to be a number.")
        return int(text)


@dataclass(frozen=True)
class Answer:
    """What is answered, as JSON."""

    body: Any
    status: int = 200
