"""Type information and its conversions."""

import datetime
import pickle
from decimal import Decimal

import pytest

from penstock.vocabulary.time.durations import Instant
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.composite import (
    ExternalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from penstock.vocabulary.types.rows import Row, RowKind
from penstock.vocabulary.types.type_info import BasicType, BasicTypeInfo, LocalTimeTypeInfo

UTC = datetime.UTC
PLUS_ONE = datetime.timezone(datetime.timedelta(hours=1))


def wall_clock(*fields):
    return datetime.datetime(*fields, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.STRING(), "String"),
        (Types.BYTE(), "Byte"),
        (Types.BOOLEAN(), "Boolean"),
        (Types.SHORT(), "Short"),
        (Types.INT(), "Integer"),
        (Types.LONG(), "Long"),
        (Types.FLOAT(), "Float"),
        (Types.DOUBLE(), "Double"),
        (Types.CHAR(), "Character"),
        (Types.BIG_INT(), "BigInteger"),
        (Types.BIG_DEC(), "BigDecimal"),
        (Types.INSTANT(), "Instant"),
        (Types.VOID(), "Void"),
        (Types.SQL_DATE(), "DateTypeInfo"),
        (Types.SQL_TIME(), "TimeTypeInfo"),
        (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
        (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), "TupleTypeInfo(String, Integer)"),
        (Types.ROW([Types.STRING(), Types.INT()]), "RowTypeInfo(f0: String, f1: Integer)"),
        (Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.STRING()]), "RowTypeInfo(a: String, b: String)"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), "PrimitiveArrayTypeInfo<Byte>"),
        (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
        (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
        (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
        (Types.MAP(Types.STRING(), Types.LONG()), "MapTypeInfo<String, Long>"),
        (ExternalTypeInfo(Types.INT()), "ExternalTypeInfo<Integer>"),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), "LocalTimeTypeInfo(LOCAL_DATE)"),
    ],
)
def test_every_type_has_a_name_equality_a_hash_and_a_pickle(type_info, text):
    assert str(type_info) == text
    twin = pickle.loads(pickle.dumps(type_info))
    assert twin == type_info
    assert hash(twin) == hash(type_info)
    assert type_info != Types.BASIC_ARRAY(Types.CHAR())


def test_types_with_different_parts_differ():
    assert Types.INT() != Types.LONG()
    assert Types.TUPLE([Types.STRING(), Types.INT()]) != Types.TUPLE([Types.STRING(), Types.BOOLEAN()])
    assert Types.LIST(Types.INT()) != Types.OBJECT_ARRAY(Types.INT())
    assert Types.ROW([Types.INT()]) == RowTypeInfo([Types.INT()])
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["f0"], [Types.INT()])
    assert Types.TUPLE([Types.INT()]) == TupleTypeInfo([Types.INT()])
    assert BasicTypeInfo(BasicType.INT) == BasicTypeInfo.INT_TYPE_INFO()


@pytest.mark.parametrize(
    ("type_info", "value", "internal"),
    [
        (Types.STRING(), "x", "x"),
        (Types.BIG_DEC(), Decimal("1.50"), Decimal("1.50")),
        (Types.SQL_DATE(), datetime.date(1970, 1, 1), 0),
        (Types.SQL_DATE(), datetime.date(1970, 2, 1), 31),
        (Types.SQL_DATE(), datetime.date(1969, 12, 31), -1),
        (Types.SQL_TIME(), datetime.time(0, 0), 0),
        (Types.SQL_TIME(), datetime.time(1, 2, 3, 4), 3_723_000_004),
        (Types.SQL_TIMESTAMP(), wall_clock(1970, 1, 1), 0),
        (
            Types.SQL_TIMESTAMP(),
            wall_clock(1970, 1, 2, 0, 0, 1, 5),
            86_401_000_005,
        ),
        (
            Types.SQL_TIMESTAMP(),
            wall_clock(1969, 12, 31, 23, 59, 59),
            -1_000_000,
        ),
        (Types.INSTANT(), Instant(1, 2_000), 1_000_002),
        (Types.INSTANT(), Instant(-1, 999_000_000), -1_000),
        (Types.LIST(Types.SQL_DATE()), [datetime.date(1970, 1, 2), None], [1, None]),
        (Types.OBJECT_ARRAY(Types.INSTANT()), [Instant(1, 0)], [1_000_000]),
        (Types.MAP(Types.SQL_DATE(), Types.INSTANT()), {datetime.date(1970, 1, 2): Instant(2, 0)}, {1: 2_000_000}),
        (Types.TUPLE([Types.STRING(), Types.SQL_DATE()]), ("x", datetime.date(1970, 1, 2)), ("x", 1)),
        (Types.ROW([Types.STRING(), Types.SQL_DATE()]), Row("x", datetime.date(1970, 1, 2)), (0, "x", 1)),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Row.of_kind(RowKind.DELETE, a=5), (3, 5)),
        (ExternalTypeInfo(Types.SQL_DATE()), datetime.date(1970, 1, 2), 1),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), datetime.date(1970, 1, 2), 1),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), datetime.time(0, 0, 1), 1_000_000),
    ],
)
def test_values_have_a_plain_form_and_come_back(type_info, value, internal):
    assert type_info.to_internal_type(value) == internal
    assert type_info.from_internal_type(internal) == value
    assert type_info.need_conversion() == (type(value) is not type(internal) or value != internal)


@pytest.mark.parametrize(
    "type_info",
    [
        Types.STRING(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.LIST(Types.SQL_DATE()),
        Types.MAP(Types.SQL_DATE(), Types.INT()),
        Types.ROW([Types.INT()]),
        Types.TUPLE([Types.INT()]),
        LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME),
    ],
)
def test_none_stays_none(type_info):
    assert type_info.to_internal_type(None) is None
    assert type_info.from_internal_type(None) is None


def test_times_with_a_zone_are_turned_into_utc():
    noon = datetime.datetime(1970, 1, 1, 12, tzinfo=PLUS_ONE)
    eleven = wall_clock(1970, 1, 1, 11)
    timestamps, times = Types.SQL_TIMESTAMP(), Types.SQL_TIME()
    assert timestamps.from_internal_type(timestamps.to_internal_type(noon)) == eleven
    assert times.from_internal_type(times.to_internal_type(noon.timetz())) == datetime.time(11)
    past_midnight = datetime.time(0, 30, tzinfo=PLUS_ONE)
    assert times.from_internal_type(times.to_internal_type(past_midnight)) == datetime.time(23, 30)


def test_rows_are_given_as_dicts_sequences_and_objects_too():
    class Order:
        def __init__(self):
            self.b = "x"
            self.a = 1

    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    for value in ({"b": "x", "a": 1}, (1, "x"), [1, "x"], Row(b="x", a=1), Row(1, "x"), Order()):
        assert kind.to_internal_type(value) == (0, 1, "x")
    assert kind.to_internal_type({"a": 1}) == (0, 1, None)
    with pytest.raises(ValueError, match="give a Row"):
        kind.to_internal_type(5)
    with pytest.raises(ValueError, match="has 1 fields"):
        kind.to_internal_type((1,))


def test_fields_of_rows_are_found_by_name():
    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert kind.get_field_names() == ["a", "b"]
    assert kind.get_field_types() == [Types.INT(), Types.STRING()]
    assert kind.get_field_index("b") == 1
    assert kind.get_field_index("c") == -1
    with pytest.raises(ValueError, match="one name per type"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(ValueError, match="must differ"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])


@pytest.mark.parametrize("make", [Types.PRIMITIVE_ARRAY, Types.BASIC_ARRAY])
def test_arrays_of_primitives_take_primitives_only(make):
    assert make(Types.DOUBLE()).get_element_type() == Types.DOUBLE()
    for element_type in (Types.BIG_DEC(), Types.SQL_DATE(), Types.LIST(Types.INT())):
        with pytest.raises(TypeError, match=r"use Types\.OBJECT_ARRAY"):
            make(element_type)
    with pytest.raises(TypeError):
        Types.PRIMITIVE_ARRAY(Types.STRING())


@pytest.mark.parametrize(
    ("python_type", "type_info"),
    [
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (datetime.datetime, Types.SQL_TIMESTAMP()),
        (datetime.date, Types.SQL_DATE()),
        (object, Types.PICKLED_BYTE_ARRAY()),
    ],
)
def test_python_types_have_their_type_information(python_type, type_info):
    assert Types.of(python_type) == type_info
