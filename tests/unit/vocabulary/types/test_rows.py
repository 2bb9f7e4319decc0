"""Rows and their kinds."""

import copy
import pickle

import pytest

from penstock.vocabulary.types.rows import Row, RowKind


def test_named_fields_are_read_by_name_position_and_attribute():
    row = Row(name="Alice", age=11)
    assert (row.name, row["age"], row[0], row[-1], row[0:1]) == ("Alice", 11, "Alice", 11, ["Alice"])
    assert list(row) == ["Alice", 11]
    assert len(row) == 2
    assert row.get_field_names() == ["name", "age"]


def test_in_looks_among_names_or_values():
    assert "name" in Row(name="Alice", age=11)
    assert "Alice" not in Row(name="Alice", age=11)
    assert "Alice" in Row("Alice", 11)


def test_rows_are_shown_as_in_pyflink():
    assert repr(Row(a=1, b="x")) == "Row(a=1, b='x')"
    assert repr(Row(1, "x")) == "<Row(1, 'x')>"
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_a_row_of_names_is_a_template():
    person = Row("name", "age")
    assert repr(person("Alice", 11)) == "Row(name='Alice', age=11)"
    with pytest.raises(ValueError, match="2 fields but 3 values"):
        person("Alice", 11, "extra")


def test_fields_are_changed_by_name_and_position_but_not_as_attributes():
    row = Row(a=1, b=2)
    row["a"] = 10
    row[1] = 20
    assert row.as_dict() == {"a": 10, "b": 20}
    with pytest.raises(AttributeError, match="row\\['a'\\]"):
        row.a = 3


def test_fields_that_are_not_there():
    with pytest.raises(AttributeError):
        _ = Row(a=1).b
    with pytest.raises(ValueError, match="no field 'b'; its fields are a"):
        Row(a=1)["b"]
    with pytest.raises(KeyError, match="no field names"):
        Row(1)["b"]
    with pytest.raises(IndexError):
        Row(1)[1]
    with pytest.raises(ValueError, match="not both"):
        Row(1, b=2)


def test_rows_become_dicts():
    row = Row(key=1, value=Row(name="a", parts=[Row(x=1)], table={"k": Row(y=2)}))
    assert row.as_dict()["value"] == Row(name="a", parts=[Row(x=1)], table={"k": Row(y=2)})
    assert row.as_dict(True) == {"key": 1, "value": {"name": "a", "parts": [{"x": 1}], "table": {"k": {"y": 2}}}}
    with pytest.raises(TypeError, match="no field names"):
        Row(1).as_dict()


def test_equality_regards_names_values_and_kind():
    assert Row(1, 2) == Row(1, 2)
    assert Row(1, 2) != Row(2, 1)
    assert Row(1, 2) != (1, 2)
    assert Row(1, 2) != Row(a=1, b=2)
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert {Row(1, 2): "x"}[Row(1, 2)] == "x"


def test_kinds_of_change():
    row = Row(1)
    assert row.get_row_kind() is RowKind.INSERT
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert row.get_row_kind() is RowKind.UPDATE_AFTER
    assert Row.of_kind(RowKind.DELETE, a=1).get_row_kind() is RowKind.DELETE


def test_fields_are_taken_by_names():
    assert Row(a=1, b=2, c=3).get_fields_by_names(["c", "a"]) == [3, 1]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    assert row == Row(x=1, y=2)


@pytest.mark.parametrize("row", [Row(), Row(1, [2]), Row(a=1, b=None), Row.of_kind(RowKind.DELETE, a=1)])
def test_rows_survive_pickling_and_copying(row):
    assert pickle.loads(pickle.dumps(row)) == row
    assert copy.deepcopy(row) == row
    assert copy.copy(row) == row
