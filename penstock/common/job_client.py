"""The handle of a submitted job."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.api.job_client import JobClient

__all__ = ["JobClient"]


def __getattr__(name: str) -> Any:
    # The client belongs to the fluent API, which is imported only by programs that use it.
    if name == "JobClient":
        return getattr(import_module("penstock.api.job_client"), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
