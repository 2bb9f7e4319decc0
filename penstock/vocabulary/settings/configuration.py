"""Key/value settings of a job, read as the type that the reader asks for."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.settings.secret_values import is_secret, shown_value
from penstock.vocabulary.time.durations import Duration, Time, format_duration, parse_duration, to_millis

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from penstock.vocabulary.settings.config_options import ConfigOption

__all__ = ["Configuration"]

T = TypeVar("T")
OptionValue = TypeVar("OptionValue", bool, int, float, str)


class Configuration:
    """A set of settings such as `parallelism.default: 4`.

    Values keep the type they are set with; a getter turns text into what it promises and says which key
    is wrong when it cannot.

    Example:
        >>> configuration = Configuration.from_dict({"restart-strategy.fixed-delay.delay": "10 s"})
        >>> configuration.get_millis("restart-strategy.fixed-delay.delay", 0)
        10000
    """

    def __init__(self, other: Configuration | None = None) -> None:
        """Create an empty configuration, or a copy of `other`."""
        self._values: dict[str, Any] = dict(other._values) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Return a configuration with the entries of `map`."""
        configuration = cls()
        for key, value in map.items():
            configuration._set(key, value)
        return configuration

    def get(self, option: ConfigOption[OptionValue]) -> OptionValue | None:
        """Return the value of `option`, its fallback if it is not set, None if it has no fallback."""
        parse: Callable[[Any], Any] = _PARSERS[option.value_type]
        return self._read(option.key(), option.default_value(), parse)

    def set(self, option: ConfigOption[OptionValue], value: OptionValue) -> Configuration:
        """Set the value of `option` and return this configuration."""
        self._set(option.key(), value)
        return self

    def get_string(self, key: str, default_value: str | None) -> str | None:
        """Return the value of `key` as text, or `default_value` if it is not set."""
        return self._read(key, default_value, _to_text)

    def set_string(self, key: str, value: str) -> None:
        """Set `key` to a text."""
        self._set(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return the value of `key` as an int, or `default_value` if it is not set."""
        return self._read(key, default_value, _to_int)

    def set_integer(self, key: str, value: int) -> None:
        """Set `key` to a whole number."""
        self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:  # noqa: FBT001
        """Return the value of `key` as a bool, or `default_value` if it is not set."""
        return self._read(key, default_value, _to_bool)

    def set_boolean(self, key: str, value: bool) -> None:  # noqa: FBT001
        """Set `key` to true or false."""
        self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """Return the value of `key` as a float, or `default_value` if it is not set."""
        return self._read(key, float(default_value), _to_float)

    def set_float(self, key: str, value: float) -> None:
        """Set `key` to a number."""
        self._set(key, float(value))

    def get_bytearray(self, key: str, default_value: bytes | bytearray) -> bytearray:
        """Return the bytes of `key` (text is read as base64), or `default_value` if it is not set."""
        return self._read(key, bytearray(default_value), _to_bytes)

    def set_bytearray(self, key: str, value: bytes | bytearray) -> None:
        """Set `key` to bytes."""
        self._set(key, bytes(value))

    def get_millis(self, key: str, default_value: int) -> int:
        """Return the length of time of `key` in milliseconds, or `default_value` if it is not set."""
        return self._read(key, default_value, _to_millis)

    def get_memory_size(self, key: str, default_value: int) -> int:
        """Return the bytes of `key`, written as `20 kb`, `64mb` or a plain number, or `default_value`."""
        return self._read(key, default_value, _to_memory_size)

    def key_set(self) -> AbstractSet[str]:
        """Return the keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Tell whether `key` is set."""
        return key in self._values

    def first_key(self, *keys: str) -> str | None:
        """Return the first of `keys` that is set; older names of an option come last."""
        return next((key for key in keys if key in self._values), None)

    def below(self, prefix: str) -> Configuration:
        """Return the entries whose keys begin with `prefix`, without it."""
        start = len(prefix)
        return Configuration.from_dict(
            {key[start:]: value for key, value in self._values.items() if key.startswith(prefix)}
        )

    def remove_config(self, key: str) -> bool:
        """Remove `key` and tell whether it was set."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> None:
        """Add every entry of `other`, with `prefix` put in front of its key."""
        for key, value in other._values.items():
            self._values[(prefix or "") + key] = value

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add every entry, as it was set, to `target_dict`."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """Return every entry as text, in the form that `from_dict` reads back."""
        return {key: _to_text(value) for key, value in self._values.items()}

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Return the elements of a list written as `[a, b]` or as `a;b`."""
        text = value.strip()
        if not text:
            return []
        if text.startswith("["):
            # Imported here because few programs write lists and `import penstock` has to be quick.
            import yaml

            elements = yaml.safe_load(text)
            if isinstance(elements, list):
                return [_to_text(element) for element in elements]
        return text.split(";")

    def _read(self, key: str, fallback: T, parse: Callable[[Any], T]) -> T:
        if key not in self._values:
            return fallback
        value = self._values[key]
        try:
            return parse(value)
        except (TypeError, ValueError) as error:
            if is_secret(key):
                msg = f"The configuration entry {key!r} has a value that cannot be used; it is secret and not shown."
                raise ValueError(msg) from None
            msg = f"The configuration entry {key!r} has the value {value!r}, which cannot be used: {error}"
            raise ValueError(msg) from error

    def _set(self, key: str, value: Any) -> None:
        require_instance(key, str, "A configuration key must be a str.")
        if value is None:
            msg = f"The configuration entry {key!r} has no value; leave it out or use remove_config."
            raise ValueError(msg)
        self._values[key] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __repr__(self) -> str:
        return f"Configuration({self})"

    def __str__(self) -> str:
        return str({key: shown_value(key, value) for key, value in self.to_dict().items()})


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (Time, Duration, timedelta)):
        return format_duration(to_millis(value))
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (list, tuple)):
        return ";".join(_to_text(element) for element in value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{_to_text(element)}" for key, element in value.items())
    return str(value)


def _to_int(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        msg = "a whole number is wanted."
        raise ValueError(msg)
    return int(value)


def _to_float(value: Any) -> float:
    return float(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    msg = "write true or false."
    raise ValueError(msg)


def _to_bytes(value: Any) -> bytearray:
    if isinstance(value, str):
        return bytearray(base64.b64decode(value, validate=True))
    if isinstance(value, (bytes, bytearray)):
        return bytearray(value)
    msg = "bytes are wanted."
    raise TypeError(msg)


def _to_millis(value: Any) -> int:
    return parse_duration(value) if isinstance(value, str) else to_millis(value)


def _to_memory_size(value: Any) -> int:
    found = _MEMORY_SIZE.fullmatch(str(value).strip().lower())
    if found is None:
        msg = "write a number of bytes, or one with kb, mb or gb."
        raise ValueError(msg)
    return int(found[1]) << _MEMORY_UNITS[found[2] or "b"]


_MEMORY_UNITS = {"b": 0, "bytes": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40}
_MEMORY_SIZE = re.compile(rf"(\d+)\s*({'|'.join(_MEMORY_UNITS)})?")
_PARSERS: dict[type, Callable[[Any], Any]] = {bool: _to_bool, int: _to_int, float: _to_float, str: _to_text}
