"""How the row format of a file sink writes a record: text, lines of JSON, CSV, or as the program says.

An encoder may have, besides ``encode``, a method ``encode_run(elements)`` that returns the bytes of many records at
once: the same bytes as one after the other, however often it is called. The sink prefers it.
"""

from __future__ import annotations

import inspect
import io
import json
import uuid
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.connectors.files.formats.csv_schema import csv_lines
from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import Encoder, SerializationSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CsvEncoder", "JsonLinesEncoder", "as_encoder", "encode_all"]

_MARK = uuid.uuid4().hex
"""A text that no record holds."""


class JsonLinesEncoder(Encoder[Any]):
    """Writes each record as JSON on a line of its own; a `Row` as an object with its field names.

    Args:
        ensure_ascii: Whether letters beyond ASCII are written as escapes.
        to_json: Turns what JSON does not know, such as a date, into something it knows.
    """

    def __init__(self, *, ensure_ascii: bool = False, to_json: Callable[[Any], Any] | None = None) -> None:
        self._ensure_ascii = ensure_ascii
        self._to_json = to_json
        self._dumps = self._make_dumps()

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Write one record."""
        stream.write(self.encode_run([element]))

    def encode_run(self, elements: Sequence[Any]) -> bytes:
        """Return the lines of many records."""
        if not elements:
            return b""
        # One call for all records, as a list with a mark behind each of them, is four times as fast as one call each.
        marked: list[Any] = [_MARK] * (2 * len(elements))
        marked[::2] = elements
        text = self._dumps(marked)
        return text[1 : -len(_MARK) - 4].replace(f',"{_MARK}",', "\n").encode() + b"\n"

    def _make_dumps(self) -> Callable[[Any], str]:
        encoder = json.JSONEncoder(ensure_ascii=self._ensure_ascii, separators=(",", ":"), default=self._other)
        return encoder.encode

    def _other(self, value: Any) -> Any:
        if isinstance(value, Row):
            return value.as_dict() if value._fields is not None else list(value)
        if self._to_json is not None:
            return self._to_json(value)
        message = f"JSON has no form for {value!r:.200} of type {type(value).__name__}; map it first or give to_json."
        raise TypeError(message)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_dumps"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._dumps = self._make_dumps()


class CsvEncoder(Encoder[Any]):
    """Writes each record, a row, tuple or list of fields, as a line of CSV.

    Args:
        delimiter: What stands between two fields.
        quote_char: What stands around a field that holds the delimiter, a quote or a line break.
        null_literal: What is written for None.
    """

    def __init__(self, *, delimiter: str = ",", quote_char: str = '"', null_literal: str = "") -> None:
        self._dialect = {"delimiter": delimiter, "quotechar": quote_char}
        self._null_literal = null_literal

    def encode(self, element: Any, stream: BinaryIO) -> None:
        """Write one record."""
        stream.write(self.encode_run([element]))

    def encode_run(self, elements: Sequence[Any]) -> bytes:
        """Return the lines of many records."""
        if self._null_literal:
            null = self._null_literal
            elements = [[null if field is None else field for field in element] for element in elements]
        return csv_lines(elements, "\n", **self._dialect).encode()


class _FunctionEncoder(Encoder[Any]):
    """Writes what a function returns."""

    def __init__(self, function: Callable[[Any], bytes]) -> None:
        self._function = function

    def encode(self, element: Any, stream: BinaryIO) -> None:
        stream.write(self._function(element))


class _StreamFunctionEncoder(Encoder[Any]):
    """Lets a function write to the stream."""

    def __init__(self, function: Callable[[Any, BinaryIO], object]) -> None:
        self._function = function

    def encode(self, element: Any, stream: BinaryIO) -> None:
        self._function(element, stream)


def as_encoder(given: Any) -> Encoder[Any]:
    """Return the encoder that a program means.

    Raises:
        ProgramError: It is nothing that encodes.
    """
    if isinstance(given, Encoder):
        return given
    if isinstance(given, SerializationSchema):
        return _FunctionEncoder(given.serialize)
    function = getattr(given, "encode", given)
    if not callable(function) or isinstance(given, type | str):
        message = (
            f"{given!r:.200} cannot encode records; give Encoder.simple_string_encoder(), an object with "
            "encode(element) or encode(element, stream), or a function from a record to bytes."
        )
        raise ProgramError(message)
    takes_stream = len(_needed_parameters(function)) > 1
    return _StreamFunctionEncoder(function) if takes_stream else _FunctionEncoder(function)


def encode_all(encoder: Encoder[Any], elements: Sequence[Any]) -> bytes:
    """Return the bytes of many records."""
    encode_run: Callable[[Sequence[Any]], bytes] | None = getattr(encoder, "encode_run", None)
    if encode_run is not None:
        return encode_run(elements)
    buffer = io.BytesIO()
    for element in elements:
        encoder.encode(element, buffer)
    return buffer.getvalue()


def _needed_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some built-in functions do not tell; those that encode take the record
        return ["element"]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in positional and each.default is inspect.Parameter.empty]
