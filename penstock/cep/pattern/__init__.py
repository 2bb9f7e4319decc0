"""Patterns and their quantifiers."""

from __future__ import annotations

from penstock.errors import MalformedPatternException
from penstock.vocabulary.cep.pattern import GroupPattern, Pattern
from penstock.vocabulary.cep.quantifier import Quantifier, WithinType

__all__ = ["GroupPattern", "MalformedPatternException", "Pattern", "Quantifier", "WithinType"]
