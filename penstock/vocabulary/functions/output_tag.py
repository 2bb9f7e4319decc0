"""Names of side outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance

if TYPE_CHECKING:
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["OutputTag", "Outputs"]

X = TypeVar("X")
OUT = TypeVar("OUT")


class OutputTag(Generic[X]):
    """Names a side output; two tags with the same id are the same side output."""

    __slots__ = ("tag_id", "type_info")

    is_used: ClassVar[bool] = False
    """Whether this process has ever held a tag: where it has not, no result needs to be looked at for one."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Remember that there are tags; unpickling comes through here as well."""
        OutputTag.is_used = True
        return super().__new__(cls)

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        """Make a tag with a non-empty id and, optionally, the type of the records it carries."""
        require_instance(tag_id, str, "The id of an OutputTag must be a str, for example OutputTag('late').")
        if not tag_id:
            msg = "The id of an OutputTag must not be empty: give the side output a name."
            raise ProgramError(msg)
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is a tag with the same id."""
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        """Hash by id."""
        return hash(self.tag_id)

    def __repr__(self) -> str:
        """Show the id."""
        return f"OutputTag({self.tag_id!r})"


# What a process function yields: records for the main output, (tag, record) pairs for side outputs.
Outputs: TypeAlias = Iterable[OUT | tuple[OutputTag[Any], Any]] | None
