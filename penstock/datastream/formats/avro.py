"""Avro files, at the place PyFlink gives them."""

from penstock.connectors.files.bulk_writer_avro import AvroBulkWriters, AvroSchema

__all__ = ["AvroBulkWriters", "AvroSchema"]
