"""Rows as JSON, at the place PyFlink gives them."""

from penstock.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
