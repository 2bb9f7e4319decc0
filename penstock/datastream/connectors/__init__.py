"""Sources and sinks, under the names and at the place PyFlink gives them."""

from penstock.connectors.protocols import Source

__all__ = ["Source"]
