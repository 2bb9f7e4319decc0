"""ORC files, at the place PyFlink gives them."""

from penstock.connectors.files.sink.bulk_writers.columns import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
