"""The warning about patterns that do more than their author may expect."""

from __future__ import annotations

__all__ = ["PatternWarning"]


class PatternWarning(UserWarning):
    """A pattern that is allowed, but holds output back or keeps state without end."""
