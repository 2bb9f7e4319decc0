"""Which settings are secret, and how texts are shown without them."""

from __future__ import annotations

import re

__all__ = ["HIDDEN", "SECRET_NAMES", "hide_password", "is_secret", "shown_value"]

HIDDEN = "******"

_SECRET_PARTS = (
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "access-key",
    "access.key",
    "accesskey",
    "account.key",
    "apikey",
    "api-key",
    "service-key",
    "auth-params",
    "basic-auth",
    "jaas.config",
    "http-headers",
)
"""The parts of names by which Flink knows secrets, and a few more."""
SECRET_NAMES = "(?i)" + "|".join(map(re.escape, _SECRET_PARTS))
"""The same as a regular expression, as Java understands it too."""
_USER_AND_PASSWORD = re.compile(r"(://[^:/?#@]*:).*(@)", re.DOTALL)
_PARAMETER = re.compile(r"((?:password|passwd|pwd|secret|token)\s*=)[^&;\s]*", re.IGNORECASE)


def is_secret(key: str) -> bool:
    """Tell by its name whether the value of a setting must not be shown."""
    lower = key.lower()
    return any(part in lower for part in _SECRET_PARTS)


def shown_value(key: str, value: str) -> str:
    """Return the value of a setting as logs and messages may show it."""
    return HIDDEN if is_secret(key) else hide_password(value)


def hide_password(text: str) -> str:
    """Return a text, which may hold an address, without passwords.

    What stands between the first colon after ``://`` and the last ``@`` is hidden, so that also a password with
    characters that belong percent-encoded does not show.

    Example:
        >>> hide_password("mysql://clerk:a/b#c@db.example/shop?password=d")
        'mysql://clerk:******@db.example/shop?password=******'
    """
    if "@" in text:
        text = _USER_AND_PASSWORD.sub(rf"\g<1>{HIDDEN}\g<2>", text)
    return _PARAMETER.sub(rf"\g<1>{HIDDEN}", text) if "=" in text else text
