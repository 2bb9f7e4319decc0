"""``execute_and_collect``: the records of a stream, in the program, while the job runs."""

from __future__ import annotations

import itertools
import uuid
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from penstock.api.argument_checks import location
from penstock.errors import ProgramError
from penstock.graph.steps import CollectStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from penstock.api.job_client import JobClient

__all__ = ["CloseableIterator", "collect"]

T = TypeVar("T")


class CloseableIterator(Generic[T]):
    """Iterates over records as they arrive; ``close`` cancels the job if it still runs."""

    def __init__(self, records: Iterator[T], client: JobClient) -> None:
        self._records = records
        self._client = client

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return next(self._records)

    def next(self) -> T:
        """Return the next record."""
        return next(self)

    def get_job_client(self) -> JobClient:
        """Return the client of the job behind the iterator."""
        return self._client

    def close(self) -> None:
        """Stop the job; nothing of it runs afterwards."""
        if not self._client.get_job_status().result().is_globally_terminal_state():
            self._client.cancel().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def collect(
    add_sink: Callable[[CollectStep], object],
    start: Callable[[str], tuple[JobClient, Iterator[T]]],
    limit: int | None,
) -> CloseableIterator[T] | list[T]:
    """Return the iterator over the records that arrive at a collecting sink, or a list of the first ones.

    Args:
        add_sink: Adds the sink to the stream.
        start: Starts the job, and returns its client and the records of the collection with the given name.
        limit: How many records make the list; without it, the iterator is returned.
    """
    if limit is not None and limit <= 0:
        message = f"The limit of execute_and_collect() must be positive, not {limit}."
        raise ProgramError(message, location())
    collection = uuid.uuid4().hex
    add_sink(CollectStep(collection=collection))
    client, records = start(collection)
    iterator: CloseableIterator[T] = CloseableIterator(records, client)
    if limit is None:
        return iterator
    with iterator:
        return list(itertools.islice(iterator, limit))
