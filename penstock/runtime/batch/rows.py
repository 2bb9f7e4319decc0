"""What travels between the stages of a batch job: blocks of records with a place in the order of their receiver.

Whatever carries rows sorts them by their order before a task reads them. A task so gets its input vertex by vertex:
first the inputs without keys, then those with keys, bucket by bucket. The order is the same in every run, also when
a task runs a second time; results that were taken over from the first run still fit to it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["KEYED", "UNKEYED", "Place", "Row", "order_of", "place_of"]

UNKEYED = 0
"""The phase in which a subtask reads inputs without keys; broadcast ones are among them."""
KEYED = 1
"""The phase in which a subtask reads inputs with keys."""

_ORDER = struct.Struct(">HHBHHHQH")


class Place(NamedTuple):
    """Where a block belongs, most significant first."""

    stage: int
    vertex: int
    phase: int
    bucket: int
    edge: int
    sender: int
    number: int
    """Counts the blocks of the sender."""
    target: int
    """The receiving subtask."""


class Row(NamedTuple):
    """A block on its way to a task of the next stage."""

    task: int
    order: bytes
    block: bytes


def order_of(place: Place) -> bytes:
    """Return the bytes by which rows are sorted."""
    return _ORDER.pack(*place)


def place_of(order: bytes) -> Place:
    """Return the place that an order stands for."""
    return Place(*_ORDER.unpack(order))
