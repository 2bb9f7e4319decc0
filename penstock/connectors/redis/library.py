"""The client library, imported when it is first needed: it is an extra."""

from __future__ import annotations

from typing import Any

from penstock.errors import ProgramError

__all__ = ["library"]


def library() -> Any:
    """Return the package redis."""
    try:
        import redis
    except ImportError as error:
        message = "Redis needs the package redis: pip install 'penstock[redis]'."
        raise ProgramError(message) from error
    return redis
