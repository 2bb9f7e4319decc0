"""The names under which classes of Penstock are stored in checkpoints and savepoints: the one table of them.

What is stored outlives the place of its class in the package. So no module of Penstock is ever named in stored bytes:
a class is known by its name in this table, a public one that is not in it by its public name. Who moves or renames a
class changes its home here, and no stored byte changes. The program's own classes are known by their own names.

- A name never goes: where another one is better, it becomes one of the ``former`` ones of the new.
- Fields of dataclasses and named tuples are matched by their names. One that is added with a default, or is removed,
  needs no word here. Where more changes, ``version`` counts up and ``upgrade`` turns old fields into new ones.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STORED_NAMES", "StoredName", "entry_of", "stored_name_of", "stored_object"]

_PACKAGE = __name__.partition(".")[0]


class StoredName(NamedTuple):
    """Where a class, or a function that makes objects, is today."""

    home: str
    """``module:name``."""
    version: int = 1
    """Counts the changes that names of fields alone do not explain."""
    upgrade: str | None = None
    """``module:name`` of a function of an older version and the fields of then that returns the fields of now."""
    former: tuple[str, ...] = ()
    """Names that it had in the table before."""

    def upgrader(self, version: int) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """Return what turns the fields of an older version into those of now, None if they are the same."""
        if version >= self.version or self.upgrade is None:
            return None
        function = _at(self.upgrade)
        return lambda fields: function(version, fields)


STORED_NAMES: dict[str, StoredName] = {
    # Records and windows.
    "row": StoredName("penstock.vocabulary.types.rows:_create_row"),
    "row-kind": StoredName("penstock.vocabulary.types.rows:RowKind"),
    "time-window": StoredName("penstock.vocabulary.windows.windows:TimeWindow"),
    "count-window": StoredName("penstock.vocabulary.windows.windows:CountWindow"),
    "global-window": StoredName("penstock.vocabulary.windows.windows:GlobalWindow"),
    "timestamped-value": StoredName("penstock.vocabulary.windows.evictors:TimestampedValue"),
    "tagged-union": StoredName("penstock.vocabulary.windows.windows:TaggedUnion"),
    "malformed-record": StoredName("penstock.vocabulary.sources.protocol:MalformedRecord"),
    "field-reducer": StoredName("penstock.vocabulary.functions.fields:FieldReducer"),
    "user-function-error": StoredName("penstock.errors:_rebuild_user_function_error"),
    # Sources.
    "source.split": StoredName("penstock.vocabulary.sources.protocol:SourceSplit"),
    "data-generator.user-event": StoredName("penstock.connectors.random_records:UserEvent"),
    "data-generator.goods-offer": StoredName("penstock.connectors.random_records:GoodsOffer"),
    "data-generator.goods-order": StoredName("penstock.connectors.random_records:GoodsOrder"),
    "file-source.split": StoredName("penstock.connectors.files.source.splits:FileSourceSplit"),
    "file-source.lane": StoredName("penstock.connectors.files.source.source:_Lane"),
    "kafka-source.split": StoredName("penstock.connectors.kafka.source:PartitionSplit"),
    "kafka-source.record": StoredName("penstock.connectors.kafka.deserialization:KafkaRecord"),
    "kafka.topic-partition": StoredName("penstock.connectors.kafka.subscription:KafkaTopicPartition"),
    "kafka.producer-record": StoredName("penstock.connectors.kafka.message_run:KafkaProducerRecord"),
    # Sinks.
    "file-sink.pending-part": StoredName("penstock.connectors.files.sink.state:PendingPart"),
    "file-sink.open-part": StoredName("penstock.connectors.files.sink.state:OpenPart"),
    "file-sink.writer": StoredName("penstock.connectors.files.sink.state:WriterState"),
    "kafka-sink.committable": StoredName("penstock.connectors.kafka.transaction:KafkaCommittable"),
    "kafka-sink.writer": StoredName("penstock.connectors.kafka.transactional_writer:WriterState"),
    "mysql-sink.branch": StoredName("penstock.connectors.mysql.xa_branch:XaBranch"),
    "mysql-sink.writer": StoredName("penstock.connectors.mysql.xa_writer:XaWriterState"),
    "two-phase-commit.prepared": StoredName("penstock.connectors.two_phase_commit:_Prepared"),
    "write-ahead.batch": StoredName("penstock.connectors.write_ahead:_Batch"),
}
"""By stored name."""


def stored_name_of(thing: Any) -> str | None:
    """Return the name under which a class or function of Penstock is stored, None for what is not Penstock's.

    Raises:
        LookupError: It is Penstock's, but has no such name.
    """
    module: str = getattr(thing, "__module__", None) or ""
    if module.partition(".")[0] != _PACKAGE:
        return None
    found = _names().get(f"{module}:{thing.__qualname__}")
    if found is not None:
        return found
    public: str = thing.__qualname__
    package = sys.modules[_PACKAGE]
    if public in package.__all__ and getattr(package, public) is thing:
        return public
    message = f"{module}.{public} is an inner part of Penstock and no data; it cannot be stored"
    raise LookupError(message)


def stored_object(name: str) -> Any:
    """Return the class or function of a stored name.

    Raises:
        LookupError: No name is or was like this.
    """
    entry = entry_of(name)
    if entry is not None:
        return _at(entry.home)
    package = sys.modules[_PACKAGE]
    if name in package.__all__:
        return getattr(package, name)
    message = f"this Penstock stores nothing under the name {name!r}; a newer one may"
    raise LookupError(message)


def entry_of(name: str) -> StoredName | None:
    """Return the entry of a name of now or before, None if it is not in the table."""
    return STORED_NAMES.get(name) or STORED_NAMES.get(_former().get(name, ""))


@cache
def _names() -> dict[str, str]:
    return {entry.home: name for name, entry in STORED_NAMES.items()}


@cache
def _former() -> dict[str, str]:
    return {former: name for name, entry in STORED_NAMES.items() for former in entry.former}


def _at(place: str) -> Any:
    module, _, name = place.partition(":")
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
