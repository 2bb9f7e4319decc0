"""What part files are called: hidden while they are written, plain once they are finished.

A finished file is ``<prefix>-<subtask>-<number><suffix>``. Before that it is
``.<prefix>-<subtask>-<number><suffix>.inprogress.<id>``. The first half of the id is the same for all files of one
sink, from one restart to the next: so the sink knows which unfinished files are its own.
"""

from __future__ import annotations

import re
import uuid

__all__ = ["OutputFileConfig", "PartNames"]


class OutputFileConfig:
    """The prefix and the suffix of the names of part files.

    Example:
        >>> OutputFileConfig.builder().with_part_suffix(".txt").build().get_part_suffix()
        '.txt'
    """

    class OutputFileConfigBuilder:
        """Builds an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Begin all names with this; the usual is ``part``."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """End all names with this, such as ``.txt``; usually there is none."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the configuration."""
            return OutputFileConfig(self._prefix, self._suffix)

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        for what, text in (("prefix", part_prefix), ("suffix", part_suffix)):
            if "/" in text:
                message = f"The {what} of part files is {text!r}; a slash belongs in the bucket, not in a file's name."
                raise ValueError(message)
        self._prefix = part_prefix
        self._suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Return a builder."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return what names begin with."""
        return self._prefix

    def get_part_suffix(self) -> str:
        """Return what names end with."""
        return self._suffix


class PartNames:
    """Makes and recognises the names of one sink's files.

    Args:
        config: Prefix and suffix.
        token: 16 hexadecimal digits that no other sink has.
    """

    def __init__(self, config: OutputFileConfig, token: str) -> None:
        self.token = token
        self._prefix = config.get_part_prefix()
        self._suffix = config.get_part_suffix()
        prefix, suffix = re.escape(self._prefix), re.escape(self._suffix)
        finished = rf"(?:compacted-)?{prefix}-(\d+)-(\d+){suffix}"
        self._finished = re.compile(finished)
        dashed = f"{token[:8]}-{token[8:12]}-{token[12:]}"
        self._unfinished = re.compile(rf"\.{finished}\.inprogress\.{dashed}-[0-9a-f-]+")

    def finished(self, subtask: int, number: int, *, compacted: bool = False) -> str:
        """Return the name of a finished file."""
        return f"{'compacted-' if compacted else ''}{self._prefix}-{subtask}-{number}{self._suffix}"

    def unfinished(self, finished: str) -> str:
        """Return a new hidden name for a file that is going to have the given one."""
        return f".{finished}.inprogress.{uuid.UUID(hex=self.token + uuid.uuid4().hex[:16])}"

    def number_of_finished(self, name: str, subtask: int) -> int | None:
        """Return the number in the name of a finished file of a subtask, None for all other names."""
        match = self._finished.fullmatch(name)
        return int(match[2]) if match and int(match[1]) == subtask else None

    def place_of_unfinished(self, name: str) -> tuple[int, int] | None:
        """Return the subtask and the number in the name of an unfinished file of this sink, None for all others."""
        match = self._unfinished.fullmatch(name)
        return (int(match[1]), int(match[2])) if match else None
