"""Key/value settings and typed options."""

import copy
import pickle
from datetime import timedelta

import pytest

from penstock.vocabulary.settings.config_options import ConfigOptions
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.time.durations import Duration


def test_what_is_set_is_returned_and_what_is_not_set_falls_back():
    configuration = Configuration()
    configuration.set_string("s", "text")
    configuration.set_integer("i", 3)
    configuration.set_boolean("b", True)
    configuration.set_float("f", 1)
    configuration.set_bytearray("y", b"\x00\xff")
    assert configuration.get_string("s", "x") == "text"
    assert configuration.get_integer("i", 0) == 3
    assert configuration.get_boolean("b", False) is True
    assert configuration.get_float("f", 0) == 1.0
    assert configuration.get_bytearray("y", b"") == bytearray(b"\x00\xff")
    assert configuration.get_string("none", "x") == "x"
    assert configuration.get_integer("none", 7) == 7
    assert configuration.get_boolean("none", True) is True
    assert configuration.get_float("none", 2) == 2.0
    assert configuration.get_bytearray("none", b"a") == bytearray(b"a")
    assert configuration.get_millis("none", 9) == 9


def test_text_is_read_as_what_the_reader_asks_for():
    configuration = Configuration.from_dict(
        {"i": "8", "b": "TRUE", "f": "0.5", "d": "5 min", "t": timedelta(seconds=1)}
    )
    assert configuration.get_integer("i", 0) == 8
    assert configuration.get_boolean("b", False) is True
    assert configuration.get_float("f", 0) == 0.5
    assert configuration.get_millis("d", 0) == 300_000
    assert configuration.get_millis("t", 0) == 1_000


@pytest.mark.parametrize("read", ["get_integer", "get_boolean", "get_float", "get_millis"])
def test_a_value_that_cannot_be_read_is_named_with_its_key(read):
    configuration = Configuration.from_dict({"some.key": "maybe"})
    with pytest.raises(ValueError, match=r"'some\.key'.*'maybe'"):
        getattr(configuration, read)("some.key", 0)


def test_a_fraction_is_no_integer():
    with pytest.raises(ValueError, match="whole number"):
        Configuration.from_dict({"i": 1.5}).get_integer("i", 0)


def test_entries_become_text_that_can_be_read_back():
    original = Configuration.from_dict(
        {"b": True, "i": 3, "d": Duration.of_seconds(10), "l": ["a", "b"], "m": {"k": 1}, "y": b"\x01"}
    )
    assert original.to_dict() == {"b": "true", "i": "3", "d": "10 s", "l": "a;b", "m": "k:1", "y": "AQ=="}
    again = Configuration.from_dict(original.to_dict())
    assert again.get_boolean("b", False) is True
    assert again.get_millis("d", 0) == 10_000
    assert again.get_bytearray("y", b"") == bytearray(b"\x01")


def test_keys_are_listed_found_and_removed():
    configuration = Configuration.from_dict({"a": "1", "b": "2"})
    assert configuration.key_set() == {"a", "b"}
    assert configuration.contains_key("a")
    assert configuration.first_key("x", "b", "a") == "b"
    assert configuration.remove_config("a") is True
    assert configuration.remove_config("a") is False
    assert not configuration.contains_key("a")


def test_entries_of_another_configuration_are_added_with_a_prefix():
    configuration = Configuration.from_dict({"a": "1"})
    configuration.add_all(Configuration.from_dict({"b": "2"}))
    configuration.add_all(Configuration.from_dict({"c": "3"}), "prefix.")
    target = {"z": "0"}
    configuration.add_all_to_dict(target)
    assert target == {"z": "0", "a": "1", "b": "2", "prefix.c": "3"}


def test_copies_are_equal_and_independent():
    configuration = Configuration.from_dict({"a": "1"})
    for twin in (Configuration(configuration), copy.deepcopy(configuration), pickle.loads(pickle.dumps(configuration))):
        assert twin == configuration
        assert hash(twin) == hash(configuration)
        twin.set_string("a", "2")
        assert configuration.get_string("a", None) == "1"


def test_keys_and_values_must_be_there():
    with pytest.raises(TypeError, match="key must be a str"):
        Configuration.from_dict({1: "a"})
    with pytest.raises(ValueError, match="no value"):
        Configuration.from_dict({"a": None})


@pytest.mark.parametrize(
    ("text", "elements"),
    [("", []), ("a", ["a"]), ("a;b", ["a", "b"]), ("[a, b]", ["a", "b"]), ("['a,1', b]", ["a,1", "b"]), ("[]", [])],
)
def test_lists_are_written_in_brackets_or_with_semicolons(text, elements):
    assert Configuration.parse_list_value(text) == elements


def test_options_carry_key_type_and_fallback():
    retries = ConfigOptions.key("retries").int_type().default_value(3)
    name = ConfigOptions.key("name").string_type().no_default_value()
    configuration = Configuration()
    assert configuration.get(retries) == 3
    assert configuration.get(name) is None
    assert not name.has_default_value()
    configuration.set(retries, 5).set(name, "job")
    assert configuration.get(retries) == 5
    assert configuration.get(name) == "job"


def test_options_read_text_as_their_type():
    configuration = Configuration.from_dict({"i": "1", "l": "2", "b": "false", "f": "0.5", "d": "0.25"})
    key = ConfigOptions.key
    assert configuration.get(key("i").int_type().no_default_value()) == 1
    assert configuration.get(key("l").long_type().no_default_value()) == 2
    assert configuration.get(key("b").boolean_type().default_value(True)) is False
    assert configuration.get(key("f").float_type().no_default_value()) == 0.5
    assert configuration.get(key("d").double_type().no_default_value()) == 0.25
