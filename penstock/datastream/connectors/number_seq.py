"""The source of consecutive numbers, at the place PyFlink gives it."""

from penstock.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
