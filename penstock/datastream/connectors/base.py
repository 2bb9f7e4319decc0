"""What sources and sinks are made of, at the place PyFlink gives it."""

from penstock.connectors.protocols import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from penstock.connectors.sink_protocol import Committer, GlobalCommitter, Sink, SinkWriter, WriterContext
from penstock.vocabulary.sinks.delivery import Delivery
from penstock.vocabulary.sinks.delivery_guarantee import DeliveryGuarantee
from penstock.vocabulary.sources.malformed_record import MalformedRecord

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
