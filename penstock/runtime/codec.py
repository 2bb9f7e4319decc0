"""Elements to bytes and back: one encoding per block and hop."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from penstock.errors import SerializationError
from penstock.runtime.elements import RECORDS, Element

__all__ = ["decode", "encode"]

_PROTOCOL = 5


def encode(elements: list[Element]) -> bytes:
    """Turn a block's elements into bytes.

    Raises:
        SerializationError: A value cannot be pickled; the message shows which.
    """
    try:
        return pickle.dumps(elements, _PROTOCOL)
    except Exception:
        return _encode_with_care(elements)


def _encode_with_care(elements: list[Element]) -> bytes:
    """Pickle what plain pickle refuses (lambdas, local classes), or find the value that cannot travel at all."""
    try:
        return bytes(cloudpickle.dumps(elements, _PROTOCOL))
    except Exception as error:
        for element in elements:
            if element[0] == RECORDS:
                for value in element[1]:
                    _check(value)
        message = f"A block of records cannot be pickled: {error!r}."
        raise SerializationError(message) from error


def _check(value: Any) -> None:
    try:
        cloudpickle.dumps(value, _PROTOCOL)
    except Exception as error:
        message = (
            f"A value of type {type(value).__name__} cannot be sent to the next step: {error}."
            f" The value is {_shown(value)}. Emit plain data (numbers, strings, tuples, dataclasses, Row), and open"
            " files, locks and connections in open() of the function that uses them."
        )
        raise SerializationError(message) from error


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.200}"
    except Exception as error:
        return f"one whose repr raises {error!r}"


def decode(data: bytes | memoryview) -> list[Element]:
    """Turn bytes back into elements."""
    elements: list[Element] = pickle.loads(data)
    return elements
