"""What is skipped after a match."""

from __future__ import annotations

from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = ["AfterMatchSkipStrategy"]
