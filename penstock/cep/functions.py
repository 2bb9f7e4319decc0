"""The functions that see matches."""

from __future__ import annotations

from penstock.vocabulary.cep.pattern_functions import PatternProcessFunction, TimedOutPartialMatchHandler

__all__ = ["PatternProcessFunction", "TimedOutPartialMatchHandler"]
