"""The auction house: its proportions, and the answers of the hand-written program against those of one pass."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import expected, ledger, nexmark
from benchmarks.nexmark import AUCTION, BID, PERSON, Auctions
from benchmarks.systems import handwritten_nexmark

RECORDS = 10_000
PARALLELISM = 2


class Lists:
    """An outbox that keeps what is sent, per target."""

    def __init__(self, targets: int) -> None:
        self.sent: list[list[Any]] = [[] for _ in range(targets)]

    def send(self, target: int, batch: Any) -> None:
        self.sent[target].append(batch)


def test_of_fifty_events_one_is_a_person_and_three_are_auctions() -> None:
    kinds = Counter(event[0] for event in map(Auctions(RECORDS, PARALLELISM), range(RECORDS)))
    assert kinds == {PERSON: 200, AUCTION: 600, BID: 9_200}


def test_the_same_number_is_the_same_event_and_time_never_goes_back() -> None:
    events = [Auctions(RECORDS, PARALLELISM)(number) for number in range(RECORDS // 2)]
    assert events == [Auctions(RECORDS, PARALLELISM)(number) for number in range(RECORDS // 2)]
    assert all(one[1] <= other[1] for one, other in pairwise(events))


def test_two_sources_share_the_events_of_one() -> None:
    alone = sorted(map(Auctions(1_000, 1), range(1_000)), key=repr)
    assert sorted(map(Auctions(1_000, 2), range(1_000)), key=repr) == alone


@pytest.mark.parametrize("job", nexmark.QUERIES)
def test_the_hand_written_program_answers_like_one_pass(job: str, tmp_path: Path) -> None:
    layers = handwritten_nexmark.layers(job, RECORDS, PARALLELISM, 500, str(tmp_path))
    inboxes: list[list[tuple[int, Any]]] = []
    for depth, layer in enumerate(layers):
        targets = len(layers[depth + 1]) if depth + 1 < len(layers) else 0
        outboxes = [Lists(targets) for _ in layer]
        for index, task in enumerate(layer):
            channels: dict[str, Any] = {"inbox": inboxes[index]} if inboxes else {}
            task(**channels, **({"outbox": outboxes[index]} if targets else {}))
        # The channels one after the other, which is as good an interleaving as any.
        inboxes = [
            [(channel, batch) for channel, box in enumerate(outboxes) for batch in box.sent[target]]
            for target in range(targets)
        ]
    reading = ledger.read(str(tmp_path))
    should = expected.checks(job, RECORDS, PARALLELISM)
    assert reading.total == should["sum"]
    assert reading.results == should.get("results", reading.results)


def test_query_2_keeps_every_bid_on_some_auctions() -> None:
    bids = [event for event in map(Auctions(RECORDS, 1), range(RECORDS)) if event[0] == BID and event[2] % 123 == 0]
    should = {"results": len(bids), "sum": sum(bid[4] + bid[2] * 31 for bid in bids)}
    assert expected.checks("q2", RECORDS, 1) == should
