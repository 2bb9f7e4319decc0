"""Parquet files, at the place PyFlink gives them."""

from penstock.connectors.files.sink.bulk_writers.avro import AvroParquetWriters
from penstock.connectors.files.sink.bulk_writers.columns import ParquetBulkWriters

__all__ = ["AvroParquetWriters", "ParquetBulkWriters"]
