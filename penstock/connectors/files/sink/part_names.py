"""What part files are called: hidden while they are written, plain once they are finished.

A finished file is ``<prefix>-<subtask>-<number><suffix>``. Before that it is
``.<prefix>-<subtask>-<number><suffix>.inprogress.<id>``. The id tells whose file it is, from one restart to the next:
12 digits for the sink, 4 for the subtask, 10 for its number among all files that the subtask has begun, 6 at random.
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
        token: 12 hexadecimal digits that no other sink has.
    """

    def __init__(self, config: OutputFileConfig, token: str) -> None:
        self.token = token
        self._prefix = config.get_part_prefix()
        self._suffix = config.get_part_suffix()
        self._finished = re.compile(rf"(?:compacted-)?{re.escape(self._prefix)}-(\d+)-(\d+){re.escape(self._suffix)}")
        # The id alone decides: prefix and suffix may have been others when the file was begun.
        id_ = rf"{token[:8]}-{token[8:]}-(\w{{4}})-(\w{{4}})-(\w{{6}})\w{{6}}"
        self._unfinished = re.compile(rf"\..*\.inprogress\.{id_}")

    def finished(self, subtask: int, number: int) -> str:
        """Return the name of a finished file."""
        return f"{self._prefix}-{subtask}-{number}{self._suffix}"

    def compacted(self, finished: str) -> str:
        """Return the name of what several files are made into, by the name that the first of them would have had."""
        return f"compacted-{finished}"

    def alternative(self, finished: str, unfinished: str) -> str:
        """Return the name of a file that finds its own taken; it is made from the hidden one, so nobody else has it."""
        return f"{finished.removesuffix(self._suffix)}-{unfinished[-6:]}{self._suffix}"

    def unfinished(self, finished: str, subtask: int, number: int) -> str:
        """Return a new hidden name for a file that is going to have the given one."""
        id_ = uuid.UUID(hex=f"{self.token}{subtask:04x}{number:010x}{uuid.uuid4().hex[:6]}")
        return f".{finished}.inprogress.{id_}"

    def number_of_finished(self, name: str, subtask: int) -> int | None:
        """Return the number in the name of a finished file of a subtask, None for all other names."""
        match = self._finished.fullmatch(name)
        return int(match[2]) if match and int(match[1]) == subtask else None

    def place_of_unfinished(self, name: str) -> tuple[int, int] | None:
        """Return by which subtask, and as which of its files, one of this sink was begun; None for all other names."""
        match = self._unfinished.fullmatch(name)
        return (int(match[1], 16), int(match[2] + match[3], 16)) if match else None
