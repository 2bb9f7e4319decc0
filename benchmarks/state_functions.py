"""Functions that do the same work and differ in where they keep it: in state, in dictionaries, in a raw RocksDB."""

from __future__ import annotations

from typing import Any

import rocksdict

from penstock import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.statestore.rocksdb.database import DatabaseSettings

Record = tuple[str, bytes, int]
"""A key, its bytes in RocksDB, and the number of a member."""


class Nothing(KeyedProcessFunction[str, Record, Any]):
    """Keeps nothing: what the way of a record to the function costs."""

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        pass


class CountInDict(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._counts: dict[str, int] = {}

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        key = value[0]
        self._counts[key] = self._counts.get(key, 0) + 1


class CountInState(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._count.update((self._count.value() or 0) + 1)


class AppendInDict(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._lists: dict[str, list[int]] = {}

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._lists.setdefault(value[0], []).append(value[2])


class AppendInState(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._list = runtime_context.get_list_state(ListStateDescriptor("list"))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._list.add(value[2])


class PutInDict(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._maps: dict[str, dict[int, int]] = {}

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._maps.setdefault(value[0], {})[value[2]] = 1


class PutInState(KeyedProcessFunction[str, Record, Any]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._map.put(value[2], 1)


class _RawRocksDB(KeyedProcessFunction[str, Record, Any]):
    """A RocksDB with the settings of the backend; it is given the bytes of keys and values."""

    def __init__(self, directory: str, value: bytes) -> None:
        rocks = rocksdict.Rdict(directory, DatabaseSettings().options())
        writing = rocksdict.WriteOptions()
        writing.disable_wal = True
        rocks.set_write_options(writing)
        self._get, self._put = rocks.get, rocks.put
        self._value = value
        self._next = 0


class CountInRocksDB(_RawRocksDB):
    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        place = value[1]
        self._get(place)
        self._put(place, self._value)


class AppendInRocksDB(_RawRocksDB):
    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._next += 1
        self._put(value[1] + self._next.to_bytes(8, "big"), self._value)


class PutInRocksDB(_RawRocksDB):
    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        self._put(value[1] + b"i%d" % value[2], self._value)
