"""Avro files, at the place PyFlink gives them."""

from penstock.connectors.files.sink.bulk_writers.avro import AvroBulkWriters, AvroSchema

__all__ = ["AvroBulkWriters", "AvroSchema"]
