"""Sources and sinks, under the names and at the place PyFlink gives them."""

from penstock.vocabulary.sources.protocol import Source

__all__ = ["Source"]
