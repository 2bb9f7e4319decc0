"""What happens to a record that cannot be read: the job fails, or a side output gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import MalformedRecordError
from penstock.vocabulary.sources.protocol import MalformedRecord

if TYPE_CHECKING:
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.sources.protocol import ReaderContext

__all__ = ["PARSE_ERRORS", "MalformedRecords"]

PARSE_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError)
"""What parsing raises where the record is to blame; anything else is an error of the program or of the machine."""


class MalformedRecords:
    """Takes the records that a reader cannot read.

    Args:
        context: The surroundings of the reader.
        tag: The side output that gets them; without one the job fails.
    """

    def __init__(self, context: ReaderContext, tag: OutputTag[MalformedRecord] | None = None) -> None:
        self._side_output = context.side_output
        self._tag = tag

    @property
    def are_fatal(self) -> bool:
        """Tell whether the first one ends the job."""
        return self._tag is None

    def report(
        self, origin: str, position: object, content: bytes | str, problem: str, cause: Exception | None = None
    ) -> None:
        """Take one.

        Raises:
            MalformedRecordError: There is no side output for it.
        """
        if self._tag is None:
            raise MalformedRecordError(origin, position, content, problem) from cause
        self._side_output(self._tag.tag_id, [MalformedRecord(origin, position, content, problem)])
