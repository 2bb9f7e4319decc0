"""What a source is made of, at the place PyFlink gives it."""

from penstock.connectors.protocols import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

__all__ = ["Boundedness", "ReaderContext", "Source", "SourceSplit", "SplitReader"]
