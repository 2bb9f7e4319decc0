"""Records with named or numbered fields."""

from penstock.vocabulary.types.rows import Row, RowKind

__all__ = ["Row", "RowKind"]
