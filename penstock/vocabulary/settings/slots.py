"""Groups of steps that share a slot, with the resources a slot of the group has."""

from __future__ import annotations

from functools import total_ordering
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MemorySize", "SlotSharingGroup"]

_UNITS = ((1 << 40, "tb"), (1 << 30, "gb"), (1 << 20, "mb"), (1 << 10, "kb"))


@total_ordering
class MemorySize:
    """A number of bytes that can be read in larger units; an ``int`` it is compared with counts bytes."""

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int) -> None:
        """Create a size of `bytes_size` bytes."""
        if bytes_size < 0:
            msg = f"A memory size is {bytes_size} bytes; it must be 0 or more."
            raise ValueError(msg)
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return a size of so many mebibytes (1024 * 1024 bytes)."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the number of bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the number of whole kibibytes."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the number of whole mebibytes."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the number of whole gibibytes."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the number of whole tebibytes."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        count = _bytes_of(other)
        return NotImplemented if count is None else self._bytes == count

    def __lt__(self, other: MemorySize | int) -> bool:
        count = _bytes_of(other)
        return NotImplemented if count is None else self._bytes < count

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"MemorySize({self})"

    def __str__(self) -> str:
        for size, unit in _UNITS:
            if self._bytes and self._bytes % size == 0:
                return f"{self._bytes // size} {unit}"
        return f"{self._bytes} bytes"


def _bytes_of(size: object) -> int | None:
    """Return the bytes that a size stands for, ``None`` if it is none."""
    if isinstance(size, MemorySize):
        return size.get_bytes()
    return size if isinstance(size, int) and not isinstance(size, bool) else None


class SlotSharingGroup:
    """A name that steps share, and what a slot for them needs.

    Slots of Spark are all alike: a step that is put into a group with resources is refused.

    Example:
        >>> group = SlotSharingGroup.builder("io").set_cpu_cores(1.0).set_task_heap_memory_mb(100).build()
        >>> group.get_name(), str(group.get_task_heap_memory())
        ('io', '100 mb')
    """

    def __init__(
        self,
        name: str,
        *,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Create a group; `SlotSharingGroup.builder(name)` is PyFlink's way."""
        self._name = name
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources)

    def get_name(self) -> str:
        """Return the name of the group."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """Return the cores of a slot, or None if nothing is said."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the memory of a slot for Python objects, or None if nothing is said."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the memory of a slot outside the heap, or None if nothing is said."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return the memory of a slot for RocksDB and sorting, or None if nothing is said."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return the other resources of a slot, such as GPUs, by name."""
        return dict(self._external_resources)

    def has_resources(self) -> bool:
        """Tell whether the group says what a slot needs."""
        memory = (self._task_heap_memory, self._task_off_heap_memory, self._managed_memory)
        return self._cpu_cores is not None or any(size is not None for size in memory) or bool(self._external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Begin a group of the given name."""
        return SlotSharingGroup.Builder(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSharingGroup) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._name, self._cpu_cores, self._task_heap_memory, self._managed_memory))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"SlotSharingGroup({fields})"

    class Builder:
        """Gathers what a slot of a group needs.

        As in Flink, either no resource is set, or at least the cores and the heap memory are.
        """

        def __init__(self, name: str) -> None:
            """Create the builder of a group."""
            self._name = name
            self._cpu_cores: float | None = None
            self._task_heap_memory: MemorySize | None = None
            self._task_off_heap_memory: MemorySize | None = None
            self._managed_memory: MemorySize | None = None
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the cores of a slot."""
            if cpu_cores <= 0:
                msg = f"The cores of a slot are {cpu_cores}; they must be more than 0."
                raise ValueError(msg)
            self._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory of a slot for Python objects."""
            if task_heap_memory.get_bytes() == 0:
                msg = "The heap memory of a slot is 0; it must be more."
                raise ValueError(msg)
            self._task_heap_memory = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory of a slot for Python objects in mebibytes."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory of a slot outside the heap."""
            self._task_off_heap_memory = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory of a slot outside the heap in mebibytes."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory of a slot for RocksDB and sorting."""
            self._managed_memory = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory of a slot for RocksDB and sorting in mebibytes."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set how much of another resource, such as GPUs, a slot has."""
            self._external_resources[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group."""
            others = (self._task_off_heap_memory, self._managed_memory, *self._external_resources)
            required = (self._cpu_cores, self._task_heap_memory)
            if any(value is not None for value in (*required, *others)) and None in required:
                msg = f"The slot sharing group {self._name!r} has resources: it needs cpu_cores and task_heap_memory."
                raise ValueError(msg)
            return SlotSharingGroup(
                self._name,
                cpu_cores=self._cpu_cores,
                task_heap_memory=self._task_heap_memory,
                task_off_heap_memory=self._task_off_heap_memory,
                managed_memory=self._managed_memory,
                external_resources=self._external_resources,
            )
