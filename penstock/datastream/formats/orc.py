"""ORC files, at the place PyFlink gives them."""

from penstock.connectors.files.bulk_writer_columns import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
