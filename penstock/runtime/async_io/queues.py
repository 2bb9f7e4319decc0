"""What waits for answers: requests and, between them, the watermarks that must not overtake them nor be overtaken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["AnswerQueue", "Marker", "OrderedAnswers", "Request", "UnorderedAnswers"]


class Request:
    """A record that is waiting for its answer."""

    __slots__ = ("error", "is_answered", "is_timed_out", "results", "stretch", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.results: list[Any] = []
        self.error: BaseException | None = None
        self.is_timed_out = False
        self.is_answered = False
        self.stretch: _Stretch | None = None


class Marker:
    """Something that keeps its place among the records: a watermark, a change between idle and active."""

    __slots__ = ("pass_on",)

    def __init__(self, pass_on: Callable[[], None]) -> None:
        self.pass_on = pass_on


class AnswerQueue(ABC):
    """Requests and markers in the order they came."""

    def __init__(self) -> None:
        self.size = 0
        """The number of requests."""

    @abstractmethod
    def add(self, request: Request) -> None:
        """Add a request."""

    @abstractmethod
    def add_marker(self, marker: Marker) -> None:
        """Add a marker."""

    @abstractmethod
    def answer(self, request: Request) -> None:
        """Take note that a request has its answer."""

    @abstractmethod
    def take_ready(self) -> Iterator[Request | Marker]:
        """Take out, one by one, what may leave."""

    @abstractmethod
    def requests(self) -> list[Request]:
        """Return all requests, answered or not, in the order they came."""


class OrderedAnswers(AnswerQueue):
    """Everything leaves in the order it came."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[Request | Marker] = deque()

    def add(self, request: Request) -> None:
        """Add a request."""
        self.size += 1
        self._waiting.append(request)

    def add_marker(self, marker: Marker) -> None:
        """Add a marker."""
        self._waiting.append(marker)

    def answer(self, request: Request) -> None:
        """Take note that a request has its answer."""
        request.is_answered = True

    def take_ready(self) -> Iterator[Request | Marker]:
        """Take out what has nothing unanswered before it."""
        waiting = self._waiting
        while waiting:
            first = waiting[0]
            if isinstance(first, Request):
                if not first.is_answered:
                    return
                self.size -= 1
            waiting.popleft()
            yield first

    def requests(self) -> list[Request]:
        """Return all requests."""
        return [waiting for waiting in self._waiting if isinstance(waiting, Request)]


class _Stretch:
    """The requests between two markers, and the marker behind them."""

    __slots__ = ("answered", "marker", "open")

    def __init__(self) -> None:
        self.open: dict[Request, None] = {}
        self.answered: deque[Request] = deque()
        self.marker: Marker | None = None


class UnorderedAnswers(AnswerQueue):
    """Between two markers requests leave as they are answered."""

    def __init__(self) -> None:
        super().__init__()
        self._stretches: deque[_Stretch] = deque([_Stretch()])

    def add(self, request: Request) -> None:
        """Add a request."""
        self.size += 1
        request.stretch = self._stretches[-1]
        request.stretch.open[request] = None

    def add_marker(self, marker: Marker) -> None:
        """Add a marker."""
        self._stretches[-1].marker = marker
        self._stretches.append(_Stretch())

    def answer(self, request: Request) -> None:
        """Take note that a request has its answer."""
        assert request.stretch is not None
        del request.stretch.open[request]
        request.stretch.answered.append(request)

    def take_ready(self) -> Iterator[Request | Marker]:
        """Take out what is answered in the first stretch and, once that is over, in the next ones."""
        while True:
            first = self._stretches[0]
            while first.answered:
                self.size -= 1
                yield first.answered.popleft()
            if first.open or first.marker is None:
                return
            self._stretches.popleft()
            yield first.marker

    def requests(self) -> list[Request]:
        """Return all requests; those of a stretch that are answered come first."""
        return [request for stretch in self._stretches for request in (*stretch.answered, *stretch.open)]
