"""Typed descriptions of configuration keys: key, kind of value and fallback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T", bool, int, float, str)


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """A configuration key together with the type of its value and the value it has when nobody sets it."""

    option_key: str
    value_type: type[T]
    fallback: T | None = None

    def key(self) -> str:
        """Return the configuration key."""
        return self.option_key

    def has_default_value(self) -> bool:
        """Tell whether the option has a value when nobody sets it."""
        return self.fallback is not None

    def default_value(self) -> T | None:
        """Return the value the option has when nobody sets it, or None."""
        return self.fallback


class ConfigOptions:
    """Where building a `ConfigOption` begins.

    Example:
        >>> retries = ConfigOptions.key("fetch.retries").int_type().default_value(3)
        >>> retries.key(), retries.default_value()
        ('fetch.retries', 3)
    """

    class OptionBuilder:
        """The first step of building an option: its key is known, its type is not."""

        def __init__(self, key: str) -> None:
            """Create the builder; `ConfigOptions.key(...)` reads better."""
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Make the option a bool."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Make the option an int."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Make the option an int."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Make the option a float."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Make the option a float."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Make the option a str."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """The second step of building an option: its type is known, its fallback is not."""

        def __init__(self, key: str, value_type: type[T]) -> None:
            """Create the builder; `ConfigOptions.key(...)` reads better."""
            self._key = key
            self._value_type: type[T] = value_type

        def default_value(self, value: T) -> ConfigOption[T]:
            """Return the option with `value` as its fallback."""
            return ConfigOption(self._key, self._value_type, value)

        def no_default_value(self) -> ConfigOption[T]:
            """Return the option without a fallback."""
            return ConfigOption(self._key, self._value_type)

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begin an option with the given key."""
        return ConfigOptions.OptionBuilder(key)
