"""What sources and sinks are made of, at the place PyFlink gives it."""

from penstock.vocabulary.sinks.protocol import (
    Committer,
    Delivery,
    DeliveryGuarantee,
    GlobalCommitter,
    Sink,
    SinkWriter,
    WriterContext,
)
from penstock.vocabulary.sources.protocol import (
    Boundedness,
    MalformedRecord,
    ReaderContext,
    Source,
    SourceSplit,
    SplitReader,
)

__all__ = [
    "Boundedness",
    "Committer",
    "Delivery",
    "DeliveryGuarantee",
    "GlobalCommitter",
    "MalformedRecord",
    "ReaderContext",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceSplit",
    "SplitReader",
    "WriterContext",
]
