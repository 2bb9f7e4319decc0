"""The unit of reading: a file, or a range of its bytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FileSourceSplit"]


@dataclass(frozen=True)
class FileSourceSplit:
    """A file, or a range of its bytes. A record belongs to the range in which it begins."""

    path: str
    """Where the file is: a path or a URI."""
    size: int
    """How many bytes it had when it was found."""
    start: int = 0
    end: int | None = None
    """The first byte behind the range; ``None``: up to the end of the file."""

    @property
    def length(self) -> int:
        """Return about how many bytes there are to read."""
        return (self.size if self.end is None else self.end) - self.start

    def divided(self, ranges: int) -> list[FileSourceSplit]:
        """Return the same in equal ranges."""
        bounds = [self.size * number // ranges for number in range(ranges)]
        return [
            FileSourceSplit(self.path, self.size, start, end)
            for start, end in zip(bounds, [*bounds[1:], None], strict=True)
        ]

    def __str__(self) -> str:
        return self.path if self.start == 0 and self.end is None else f"{self.path}[{self.start}:{self.end or ''}]"
