"""Reads one partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.source.malformed import MalformedRecords
from penstock.vocabulary.sources.protocol import SplitReader

if TYPE_CHECKING:
    from penstock.connectors.kafka.deserialization import MessageDecoder
    from penstock.connectors.kafka.fetcher import Fetcher
    from penstock.connectors.kafka.subscription import KafkaTopicPartition
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.sources.protocol import MalformedRecord, ReaderContext

__all__ = ["FinishedReader", "PartitionReader"]


class PartitionReader(SplitReader[Any]):
    """Reads a partition from an offset, up to another one if there is one; positions are offsets."""

    def __init__(
        self,
        partition: KafkaTopicPartition,
        start: int,
        stop: int | None,
        *,
        fetcher: Fetcher,
        decoder: MessageDecoder,
        context: ReaderContext,
        malformed: OutputTag[MalformedRecord] | None = None,
        commits: bool = True,
        auto_commit_interval: int | None = None,
    ) -> None:
        self._partition = partition
        self._next = start
        self._stop = stop
        self._fetcher = fetcher
        self._decoder = decoder
        self._malformed = MalformedRecords(context, malformed)
        self._commits = commits
        self._elapsed = context.elapsed
        self._auto_commit_interval = None if context.is_checkpointed else auto_commit_interval
        self._auto_commit_at = 0
        self._inbox = fetcher.add(partition, start)
        self._is_over = stop is not None and start >= stop

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        """Return the next records with the timestamps that they have in Kafka."""
        if self._auto_commit_interval is not None and self._elapsed() >= self._auto_commit_at:
            self._auto_commit_at = self._elapsed() + self._auto_commit_interval
            self._fetcher.commit(self._partition, self._next)  # what was returned so far has been passed on
        while not self._is_over:
            messages = self._fetcher.take(self._inbox, limit)
            if not messages:
                # Transactions leave marks in the log that take offsets, so the last record may lie before the stop.
                if self._stop is None or self._inbox.end < self._stop:
                    return [], None
                self._next = max(self._next, self._stop)
                self._is_over = True
                break
            if self._stop is not None and messages[-1].offset() >= self._stop:
                messages = self._before_stop(messages, self._stop)
                if not messages:
                    break
            values, timestamps = self._decoded(messages)
            if values:
                return values, timestamps
        self._fetcher.remove(self._partition)
        return None

    def _before_stop(self, messages: list[Any], stop: int) -> list[Any]:
        self._is_over = True
        self._next = max(self._next, stop)
        return [message for message in messages if message.offset() < stop]

    def _decoded(self, messages: list[Any]) -> tuple[list[Any], list[int]]:
        decoder = self._decoder
        last = messages[-1].offset()
        try:
            values = decoder.decode(messages)
        except Exception:  # whichever message it was, each is looked at by itself
            values, messages = self._sorted_out(messages)
        if not self._is_over:
            self._next = last + 1
        if decoder.ends_streams:
            values, messages = self._before_end(values, messages)
        timestamps = [message.timestamp()[1] for message in messages]
        if decoder.leaves_out and any(value is None for value in values):
            timestamps = [time for value, time in zip(values, timestamps, strict=True) if value is not None]
            values = [value for value in values if value is not None]
        return values, timestamps

    def _sorted_out(self, messages: list[Any]) -> tuple[list[Any], list[Any]]:
        """Decode one by one; report what cannot be decoded, which fails where there is no side output for it."""
        values, good = [], []
        for message in messages:
            try:
                (value,) = self._decoder.decode([message])
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                content = message.value() or b""
                self._malformed.report(str(self._partition), message.offset(), content, problem, error)
            else:
                values.append(value)
                good.append(message)
        return values, good

    def _before_end(self, values: list[Any], messages: list[Any]) -> tuple[list[Any], list[Any]]:
        """Cut where the schema says that the stream ends; after a restart it will say so again."""
        is_end = self._decoder.is_end_of_stream
        for index, value in enumerate(values):
            if value is not None and is_end(value):
                self._is_over = True
                self._next = messages[index].offset()
                return values[:index], messages[:index]
        return values, messages

    def position(self) -> int:
        """Return the offset of the next record."""
        return self._next

    def committed(self, position: int) -> None:
        """Tell the consumer group that the job has come so far."""
        if self._commits:
            self._fetcher.commit(self._partition, position)

    def close(self) -> None:
        """Stop fetching; the consumer, which all readers of the subtask share, is closed after all of them."""
        if self._auto_commit_interval is not None:
            self._fetcher.commit(self._partition, self._next)
        self._fetcher.remove(self._partition)


class FinishedReader(SplitReader[Any]):
    """Reads nothing: the partition is not part of the source any more."""

    def __init__(self, position: Any) -> None:
        self._position = position

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        """Say that the split is finished."""
        return None

    def position(self) -> Any:
        """Return where reading ended, long ago."""
        return self._position
