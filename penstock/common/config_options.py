"""Typed descriptions of configuration keys."""

from penstock.vocabulary.config_options import ConfigOption, ConfigOptions

__all__ = ["ConfigOption", "ConfigOptions"]
