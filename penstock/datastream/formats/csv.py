"""CSV files, at the place PyFlink gives them."""

from penstock.connectors.files.formats.csv_reader_format import CsvReaderFormat
from penstock.connectors.files.formats.csv_schema import CsvColumn, CsvSchema, CsvSchemaBuilder
from penstock.connectors.files.sink.bulk_writers.csv import CsvBulkWriters
from penstock.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = [
    "CsvBulkWriters",
    "CsvColumn",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
