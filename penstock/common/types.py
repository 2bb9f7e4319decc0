"""Records with named or numbered fields."""

from penstock.vocabulary.rows import Row, RowKind

__all__ = ["Row", "RowKind"]
