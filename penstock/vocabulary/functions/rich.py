"""Java's ``Rich*`` names: every function here has ``open``, ``close`` and ``get_runtime_context`` already."""

from __future__ import annotations

from typing import TypeVar

from penstock.vocabulary.functions.basic import (
    AggregateFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    MapFunction,
    ReduceFunction,
)

__all__ = [
    "RichAggregateFunction",
    "RichCoFlatMapFunction",
    "RichCoGroupFunction",
    "RichCoMapFunction",
    "RichFilterFunction",
    "RichFlatJoinFunction",
    "RichFlatMapFunction",
    "RichFunction",
    "RichJoinFunction",
    "RichMapFunction",
    "RichReduceFunction",
]

T = TypeVar("T")
IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
ACC = TypeVar("ACC")

RichFunction = Function


class RichMapFunction(MapFunction[IN, OUT]):
    """Is a MapFunction under Java's name for functions with a life cycle."""


class RichFlatMapFunction(FlatMapFunction[IN, OUT]):
    """Is a FlatMapFunction under Java's name for functions with a life cycle."""


class RichFilterFunction(FilterFunction[T]):
    """Is a FilterFunction under Java's name for functions with a life cycle."""


class RichReduceFunction(ReduceFunction[T]):
    """Is a ReduceFunction under Java's name for functions with a life cycle."""


class RichAggregateFunction(AggregateFunction[IN, ACC, OUT]):
    """Is an AggregateFunction under Java's name for functions with a life cycle."""


class RichCoMapFunction(CoMapFunction[IN1, IN2, OUT]):
    """Is a CoMapFunction under Java's name for functions with a life cycle."""


class RichCoFlatMapFunction(CoFlatMapFunction[IN1, IN2, OUT]):
    """Is a CoFlatMapFunction under Java's name for functions with a life cycle."""


class RichJoinFunction(JoinFunction[IN1, IN2, OUT]):
    """Is a JoinFunction under Java's name for functions with a life cycle."""


class RichFlatJoinFunction(FlatJoinFunction[IN1, IN2, OUT]):
    """Is a FlatJoinFunction under Java's name for functions with a life cycle."""


class RichCoGroupFunction(CoGroupFunction[IN1, IN2, OUT]):
    """Is a CoGroupFunction under Java's name for functions with a life cycle."""
