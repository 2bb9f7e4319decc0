"""CSV files, at the place PyFlink gives them."""

from penstock.connectors.files.bulk_writer_csv import CsvBulkWriters
from penstock.connectors.files.csv_reader_format import CsvReaderFormat
from penstock.connectors.files.csv_schema import CsvColumn, CsvSchema, CsvSchemaBuilder
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
