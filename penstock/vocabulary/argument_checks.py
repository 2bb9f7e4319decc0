"""Checks of what a program hands over, at run time, because programs are seldom type-checked."""

from __future__ import annotations

__all__ = ["require_instance"]


def require_instance(value: object, kind: type | tuple[type, ...], message: str) -> None:
    """Raises a TypeError with the message, and the type that was given, unless ``value`` is of that kind."""
    if not isinstance(value, kind):
        msg = f"{message} Given: {type(value).__name__}."
        raise TypeError(msg)
