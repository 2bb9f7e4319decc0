"""The conditions of patterns."""

from __future__ import annotations

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

__all__ = [
    "BooleanConditions",
    "IterativeCondition",
    "RichAndCondition",
    "RichCompositeIterativeCondition",
    "RichIterativeCondition",
    "RichNotCondition",
    "RichOrCondition",
    "SimpleCondition",
    "SubtypeCondition",
]
