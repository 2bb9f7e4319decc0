"""Patterns of events: Flink's CEP library."""

from __future__ import annotations

from penstock.api.pattern_set_stream import PatternSetStream
from penstock.api.pattern_stream import CEP, PatternStream
from penstock.errors import MalformedPatternException
from penstock.vocabulary.cep.conditions import (
    BooleanConditions,
    IterativeCondition,
    RichAndCondition,
    RichCompositeIterativeCondition,
    RichIterativeCondition,
    RichNotCondition,
    RichOrCondition,
    SimpleCondition,
    SubtypeCondition,
)
from penstock.vocabulary.cep.pattern import GroupPattern, Pattern, PatternWarning
from penstock.vocabulary.cep.pattern_functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    RichPatternFlatSelectFunction,
    RichPatternSelectFunction,
    TimedOutPartialMatchHandler,
)
from penstock.vocabulary.cep.quantifier import Quantifier, WithinType
from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "BooleanConditions",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternException",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternSetStream",
    "PatternStream",
    "PatternTimeoutFunction",
    "PatternWarning",
    "Quantifier",
    "RichAndCondition",
    "RichCompositeIterativeCondition",
    "RichIterativeCondition",
    "RichNotCondition",
    "RichOrCondition",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "SimpleCondition",
    "SubtypeCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
