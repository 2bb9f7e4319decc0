"""The names of transaction branches: by them a branch is found again by another process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["BranchNames", "XaBranch"]

_FORMAT = 0x50454E53
"""The format number of all branches of this library, which keeps them apart from those of other programs."""


@dataclass(frozen=True)
class XaBranch:
    """One branch: the subtask it belongs to, under the name of its sink, and what tells it from the others there."""

    sink: str
    owner: int
    mark: str

    @property
    def literal(self) -> str:
        """Return the id as it is written in statements."""
        return f"'{self.sink}-{self.owner}','{self.mark}',{_FORMAT}"

    @staticmethod
    def read(row: tuple[int, int, int, bytes | str]) -> XaBranch | None:
        """Return the branch of a line of ``XA RECOVER``, None if it is of another program."""
        number, split, _, name = row
        text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
        sink, _, owner = text[:split].rpartition("-")
        return XaBranch(sink, int(owner), text[split:]) if number == _FORMAT and owner.isdigit() else None


@dataclass(frozen=True)
class BranchNames:
    """The names that the branches of one subtask of a sink have, and its lock."""

    sink: str
    subtask: int

    @staticmethod
    def of(context: WriterContext, prefix: str | None) -> BranchNames:
        """Derive names from what stays the same from one run of the program to the next."""
        identity = f"{prefix or context.job_name}\0{context.operator_id}"
        return BranchNames(f"penstock-{hashlib.sha256(identity.encode()).hexdigest()[:24]}", context.subtask)

    def branch(self, run: str, number: int) -> XaBranch:
        """Return the name of the next branch; ``run`` is different for each writer there ever was."""
        return XaBranch(self.sink, self.subtask, f"{run}-{number}")

    def lock(self, owner: int) -> str:
        """Return the name of the lock that a subtask holds while it has a branch open."""
        return f"{self.sink}-{owner}"
