"""Names under which Penstock stores its classes: one each, for ever, with what has moved and changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from penstock import Duration, RowKind, StreamExecutionEnvironment, TimeWindow
from penstock.connectors.kafka.subscription import KafkaTopicPartition
from penstock.foundation import stored_names
from penstock.foundation.keys.forms import encode
from penstock.foundation.keys.groups import key_group_of
from penstock.foundation.stored_names import STORED_NAMES, StoredName, stored_name_of, stored_object
from penstock.graph.packing import own_copy
from penstock.runtime.task.task import Task
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.key_codec import encode_key
from penstock.statestore.value_codec import ClassTable, ValueReader, load_value, store_value


@dataclass(frozen=True)
class Part:
    """Stands for a class of Penstock that was called otherwise, and had other fields, in version 1."""

    path: str
    size: int = 0


class Place(NamedTuple):
    topic: str
    partition: int


def upgraded_part(version: int, fields: dict[str, Any]) -> dict[str, Any]:
    assert version == 1
    return {"path": f"{fields['directory']}/{fields['name']}", "size": fields["size"]}


def upgraded_place(version: int, fields: dict[str, Any]) -> dict[str, Any]:
    topic, _, partition = fields["text"].partition("-")
    return {"topic": topic, "partition": int(partition)}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, StoredName]]:
    changed = dict(STORED_NAMES)
    monkeypatch.setattr(stored_names, "STORED_NAMES", changed)
    clear()
    yield changed
    clear()


def clear() -> None:
    stored_names._names.cache_clear()
    stored_names._former.cache_clear()


def read(value: Any, schema: ClassSchema) -> Any:
    """Read the bytes of a value as if its class had been stored with another schema."""
    bytes_table = ClassTable()
    data = bytes_table.dumps(value)
    return ValueReader([schema]).loads(data)


class OldPart:
    def __init__(self, directory: str, name: str, size: int) -> None:
        self.directory, self.name, self.size = directory, name, size


class OldPlace(NamedTuple):
    text: str


def test_every_class_is_found_by_its_name() -> None:
    for name in STORED_NAMES:
        assert stored_name_of(stored_object(name)) == name


def test_homes_are_named_once() -> None:
    homes = [entry.home for entry in STORED_NAMES.values()]
    assert len(homes) == len(set(homes))
    former = [name for entry in STORED_NAMES.values() for name in entry.former]
    assert not set(former) & STORED_NAMES.keys()


def test_a_public_class_is_known_by_its_public_name() -> None:
    assert stored_name_of(Duration) == "Duration"
    assert stored_object("Duration") is Duration
    assert load_value(store_value(Duration.of_seconds(3))) == Duration.of_seconds(3)
    assert stored_name_of(StreamExecutionEnvironment) == "StreamExecutionEnvironment"


@pytest.mark.parametrize("thing", [Task, own_copy])
def test_what_is_no_data_has_no_name(thing: Any) -> None:
    with pytest.raises(LookupError, match="inner part of Penstock"):
        stored_name_of(thing)


def test_what_others_define_is_not_named_here() -> None:
    assert stored_name_of(Part) is None
    assert stored_name_of(int) is None


def test_a_former_name_is_found(table: dict[str, StoredName]) -> None:
    table["better"] = StoredName(f"{__name__}:Part", former=("old", "older"))
    clear()
    assert stored_object("old") is stored_object("older") is stored_object("better") is Part


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(LookupError, match="stores nothing under the name 'unheard'; a newer one may"):
        stored_object("unheard")


def test_old_fields_become_new_ones(table: dict[str, StoredName]) -> None:
    table["part"] = StoredName(f"{__name__}:Part", version=2, upgrade=f"{__name__}:upgraded_part")
    table["place"] = StoredName(f"{__name__}:Place", version=2, upgrade=f"{__name__}:upgraded_place")
    clear()
    old = ClassSchema("", "part", ("directory", "name", "size"), version=1)
    assert read(OldPart("/out", "a", 3), old) == Part("/out/a", 3)
    assert read(OldPlace("orders-7"), ClassSchema("", "place", ("text",), version=1)) == Place("orders", 7)
    assert read(Part("/out/a", 3), ClassSchema("", "part", ("path", "size"), version=2)) == Part("/out/a", 3)


def test_a_newer_version_is_refused(table: dict[str, StoredName]) -> None:
    table["part"] = StoredName(f"{__name__}:Part", version=2, upgrade=f"{__name__}:upgraded_part")
    clear()
    with pytest.raises(LookupError, match="'part' was stored by a newer Penstock, in its version 3"):
        read(Part("a"), ClassSchema("", "part", ("path", "size"), version=3))


def test_keys_do_not_name_modules_of_penstock() -> None:
    for key in (TimeWindow(1, 2), KafkaTopicPartition("a", 1), RowKind.DELETE, (KafkaTopicPartition("a", 1), "a")):
        assert b"penstock." not in encode_key(key)


def test_where_a_key_belongs_does_not_depend_on_the_name_of_its_class() -> None:
    def customers(name: str) -> Any:
        cls = dataclass(frozen=True)(type(name, (), {"__annotations__": {"number": int}, "__module__": "shop"}))
        return [cls(number) for number in range(20)]

    keys = zip(customers("Customer"), customers("Buyer"), strict=True)
    for old, new in keys:
        assert key_group_of(old, 128) == key_group_of(new, 128)
        assert key_group_of(frozenset({old, "a"}), 128) == key_group_of(frozenset({new, "a"}), 128)
        assert encode_key(old) != encode_key(new), "they are different keys all the same"
    assert encode(1) == b"i\x01"
