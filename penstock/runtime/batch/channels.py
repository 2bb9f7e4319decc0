"""The sending end of an exchange in batch: blocks with a place in the order of their receiver.

Records of keyed inputs are spread over *buckets*, each a share of the key groups of one subtask. A receiver reads one
bucket after the other and groups its records by key in memory. Buckets are many, so each is small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.graph.batch_mode import is_input_keyed
from penstock.graph.multi_input_steps import BroadcastProcessStep
from penstock.graph.partitioning import Broadcast, KeyGroups
from penstock.runtime.batch.rows import KEYED, UNKEYED, Place, Row, order_of
from penstock.runtime.exchange.writer import ChannelWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.graph.plan import Edge, Vertex
    from penstock.runtime.exchange.elements import Element

__all__ = ["bucket_channels"]

_BUCKETS = 128
"""How many buckets all subtasks of a receiver have together, if its key groups allow."""


class _BatchChannel(ChannelWriter):
    """Fills the blocks for one target; there are only records."""

    __slots__ = ()

    def add(self, element: Element) -> None:
        """Leave out control elements: the end of the rows says all that they would say."""


def bucket_channels(
    edge: Edge,
    receiver: Vertex,
    sender: int,
    targets: Iterable[int],
    *,
    hop: Callable[[int], int],
    put: Callable[[Row], None],
) -> list[ChannelWriter]:
    """Return the channels of an edge: one per target, or one per bucket of each target where records have keys."""
    step = receiver.head.step
    is_keyed = is_input_keyed(step, edge.input)
    buckets = range(1)
    if is_keyed and isinstance(edge.partitioning, KeyGroups):
        most = min(_BUCKETS, receiver.max_parallelism)
        buckets = range(max(1, most // receiver.parallelism))
    elif not is_keyed:
        # What is broadcast is there before the rest comes.
        is_first = isinstance(edge.partitioning, Broadcast) or (isinstance(step, BroadcastProcessStep) and edge.input)
        buckets = range(1) if is_first else range(1, 2)
    phase = KEYED if is_keyed else UNKEYED

    def channel(target: int, bucket: int) -> ChannelWriter:
        count = 0

        def send(_: int, data: bytes) -> None:
            nonlocal count
            place = Place(receiver.stage, receiver.id, phase, bucket, edge.id, sender, count, target)
            count += 1
            put(Row(hop(target), order_of(place), data))

        return _BatchChannel(target, send)

    return [channel(target, bucket) for target in targets for bucket in buckets]
