"""Looks over a run as a whole, for less than looking at its records one by one would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["are_all"]


def _are_all(run: list[Any], kind: type) -> bool:
    """Tell whether all of a list are instances of a class itself, not of one derived from it."""
    return {kind}.issuperset(map(type, run))


are_all: Callable[[list[Any], type], bool] = _are_all if native is None else native.are_all
