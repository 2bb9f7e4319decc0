"""Settings that come from outside the program: a configuration file and the command line."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.errors import ProgramError
from penstock.vocabulary.settings.configuration import Configuration

__all__ = [
    "CONFIGURATION_DIRECTORY", "PlanOnly", "is_plan_only", "launch_configuration", "set_command_line_configuration",
    "set_plan_only",
]  # fmt: skip

CONFIGURATION_DIRECTORY = "PENSTOCK_CONF_DIR"
"""The environment variable that names the configuration file's directory; the working directory if it is not set."""
_FILE_NAMES = ("penstock-conf.yaml", "config.yaml", "flink-conf.yaml")

_command_line = Configuration()
_is_plan_only = False


class PlanOnly(BaseException):
    """Ends a program whose plan only is asked for; its text is the plan."""


def set_plan_only() -> None:
    """Let programs run up to their first job, and ask for its plan only."""
    global _is_plan_only
    _is_plan_only = True


def is_plan_only() -> bool:
    """Tell whether programs run only for their plans."""
    return _is_plan_only


def set_command_line_configuration(configuration: Configuration) -> None:
    """Set what was given on the command line; it wins over the configuration file and loses against the program."""
    global _command_line
    _command_line = configuration


def launch_configuration() -> Configuration:
    """Return the settings of the configuration file, overridden by those of the command line."""
    configuration = _file_configuration()
    configuration.add_all(_command_line)
    return configuration


def _file_configuration() -> Configuration:
    directory = os.environ.get(CONFIGURATION_DIRECTORY)
    names = _FILE_NAMES if directory else _FILE_NAMES[:1]
    path = next((found for name in names if (found := Path(directory or ".") / name).is_file()), None)
    if path is None:
        return Configuration()
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        message = f"The configuration file {path} is not YAML: {error}"
        raise ProgramError(message) from error
    if not isinstance(content, dict):
        message = f"The configuration file {path} must be a YAML mapping of keys to values."
        raise ProgramError(message)
    return Configuration.from_dict({key: value for key, value in _flat(content) if value is not None})


def _flat(content: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    """Return nested mappings as dotted keys; both forms are used in Flink's files."""
    entries: list[tuple[str, object]] = []
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            entries.extend(_flat(value, f"{name}."))
        else:
            entries.append((name, value))
    return entries
