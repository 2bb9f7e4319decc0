"""Asynchronous requests, under the name and at the place PyFlink gives them."""

from penstock.api.async_data_stream import AsyncDataStream

__all__ = ["AsyncDataStream"]
