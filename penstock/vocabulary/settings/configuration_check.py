"""Looks through the keys of a configuration for those that would do nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.vocabulary.settings.known_options import KNOWN_OPTIONS, KNOWN_PREFIXES
from penstock.vocabulary.settings.refused_options import FOREIGN_PREFIXES, REFUSED_OPTIONS, refuse

if TYPE_CHECKING:
    from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["check_configuration"]

_log = logging.getLogger("penstock.configuration")
_KNOWN = frozenset(KNOWN_OPTIONS) | {older for option in KNOWN_OPTIONS.values() for older in option.older}
_FAMILIES = frozenset(
    key.partition(".")[0] for key in (*_KNOWN, *KNOWN_PREFIXES, *REFUSED_OPTIONS, *FOREIGN_PREFIXES, "penstock")
)
"""The first parts of keys that belong to Flink, Spark or Penstock; a key of another family is the program's own."""
_CLEARLY_MEANT = 0.85


def check_configuration(configuration: Configuration) -> None:
    """Refuse settings that cannot be had, and warn of keys that do nothing.

    A key that begins like none of Flink's, and is not nearly one either, is the program's own and is let alone.

    Raises:
        ProgramError: A setting would have to change what the job does, and cannot.
    """
    foreign: dict[str, list[str]] = {}
    for key in sorted(configuration.key_set()):
        if key in _KNOWN or key.startswith(tuple(KNOWN_PREFIXES)):
            continue
        if key in REFUSED_OPTIONS:
            value = configuration.get_string(key, "") or ""
            if value.strip().lower() not in REFUSED_OPTIONS[key].fine:
                refuse(key)
            continue
        prefix = next((prefix for prefix in FOREIGN_PREFIXES if key.startswith(prefix)), None)
        if prefix is not None:
            foreign.setdefault(FOREIGN_PREFIXES[prefix], []).append(key)
            continue
        _warn_of_unknown(key)
    for reason, keys in foreign.items():
        _log.warning("No effect: %s (%s)", ", ".join(keys), reason.rstrip("."))


def _warn_of_unknown(key: str) -> None:
    # Imported here because few programs need it and `import penstock` has to be quick.
    import difflib

    is_own = key.partition(".")[0] not in _FAMILIES
    nearest = difflib.get_close_matches(key, _KNOWN | REFUSED_OPTIONS.keys(), 1, _CLEARLY_MEANT if is_own else 0.5)
    if nearest and nearest[0] in REFUSED_OPTIONS:
        reason = REFUSED_OPTIONS[nearest[0]].reason
        _log.warning(
            "The configuration has the key %r, which does nothing. Is %r meant? It cannot be had: %s",
            key,
            nearest[0],
            reason,
        )
    elif nearest:
        _log.warning("The configuration has the key %r, which does nothing. Is %r meant?", key, nearest[0])
    elif not is_own:
        _log.warning("The configuration has the key %r, which does nothing.", key)
