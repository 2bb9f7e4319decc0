"""Takes the address of a server apart without ever showing its password."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from penstock.errors import ProgramError
from penstock.vocabulary.settings.secret_values import hide_password

__all__ = ["split_address"]


def split_address(address: str) -> SplitResult:
    """Return the parts of an address such as ``mysql://user:password@host:port/path``.

    A password with ``/``, ``#`` or ``?`` as they are would end up in the host or the path, and from there in messages:
    it is refused.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        message = f"{hide_password(address)!r} is no address."
        raise ProgramError(message) from None  # the reason quotes the address
    rest = parts.path + parts.fragment + parts.query.partition("=")[0]
    if "@" not in parts.netloc and "@" in rest:
        message = (
            f"{hide_password(address)!r}: a user or password must not hold /, # or ? as they are;"
            " write them as %2F, %23 and %3F, or give the password apart from the address."
        )
        raise ProgramError(message)
    return parts
