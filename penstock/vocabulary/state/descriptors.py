"""Descriptors: the name, kind and type by which a function asks for state.

Two descriptors are equal if kind and name are. The name is the state's identity in checkpoints and savepoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import AggregateFunction, ReduceFunction, ReduceFunctionWrapper
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.state.ttl import StateTtlConfig
from penstock.vocabulary.types.composite import ListTypeInfo, MapTypeInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = [
    "AggregatingStateDescriptor",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class StateDescriptor:
    """Names a state and says what it holds."""

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        """Describe a state by its name and the type of its content."""
        require_instance(name, str, "The name of a state must be a str.")
        if not name:
            msg = "The name of a state must not be empty: the state is found by it when a job is restored."
            raise ProgramError(msg)
        self.name = name
        self.type_info = type_info
        self.ttl_config: StateTtlConfig | None = None

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the content expire as the config says."""
        require_instance(ttl_config, StateTtlConfig, f"State {self.name!r} needs a StateTtlConfig from new_builder().")
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one is a descriptor of the same kind and name."""
        return type(other) is type(self) and isinstance(other, StateDescriptor) and other.name == self.name

    def __hash__(self) -> int:
        """Hash by kind and name."""
        return hash((type(self).__qualname__, self.name))

    def __repr__(self) -> str:
        """Show kind and name."""
        return f"{type(self).__name__}({self.name!r})"


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a ValueState."""

    def __init__(
        self, name: str, value_type_info: TypeInformation | None = None, default_value: T | None = None
    ) -> None:
        """Describe a value; ``default_value`` is what an empty state reads as."""
        super().__init__(name, value_type_info)
        self.default_value = default_value


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a ListState."""

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None) -> None:
        """Describe a list by the type of its elements."""
        super().__init__(name, None if elem_type_info is None else ListTypeInfo(elem_type_info))
        self.elem_type_info = elem_type_info


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """Describes a MapState or a broadcast state."""

    def __init__(
        self, name: str, key_type_info: TypeInformation | None = None, value_type_info: TypeInformation | None = None
    ) -> None:
        """Describe a map by the types of its keys and values."""
        type_info = MapTypeInfo(key_type_info, value_type_info) if key_type_info and value_type_info else None
        super().__init__(name, type_info)
        self.key_type_info = key_type_info
        self.value_type_info = value_type_info


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a ReducingState."""

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        type_info: TypeInformation | None = None,
    ) -> None:
        """Describe a reduced value by the function, object or callable, that combines two values."""
        super().__init__(name, type_info)
        self._reduce_function: ReduceFunction[T] = (
            reduce_function if isinstance(reduce_function, ReduceFunction) else ReduceFunctionWrapper(reduce_function)
        )

    def get_reduce_function(self) -> ReduceFunction[T]:
        """Return the reduce function."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """Describes an AggregatingState."""

    def __init__(
        self,
        name: str,
        agg_function: AggregateFunction[IN, ACC, OUT],
        state_type_info: TypeInformation | None = None,
    ) -> None:
        """Describe an aggregate by its function and the type of the accumulator."""
        super().__init__(name, state_type_info)
        require_instance(agg_function, AggregateFunction, f"State {name!r} needs an AggregateFunction.")
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction[IN, ACC, OUT]:
        """Return the aggregate function."""
        return self._agg_function
