"""Parquet files, at the place PyFlink gives them."""

from penstock.connectors.files.bulk_writer_avro import AvroParquetWriters
from penstock.connectors.files.bulk_writer_columns import ParquetBulkWriters

__all__ = ["AvroParquetWriters", "ParquetBulkWriters"]
