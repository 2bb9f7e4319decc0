"""Typed descriptions of configuration keys."""

from penstock.vocabulary.settings.config_options import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
