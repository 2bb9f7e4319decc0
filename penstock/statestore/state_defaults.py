"""What a value state reads as before something was stored: a default that no key shares with another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.statestore.copying import copied

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["default_maker", "default_of"]


def default_of(descriptor: Any) -> Any:
    """Return the default of a descriptor; kinds of state other than a value have none."""
    return getattr(descriptor, "default_value", None)


def default_maker(default: Any) -> Callable[[], Any] | None:
    """Return what makes copies of a default, ``None`` where nothing can change it and all may have the same."""
    own = copied(default)
    return None if own is default else partial(copied, own)
