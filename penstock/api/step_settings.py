"""The settings that every step has: name, uid, parallelism, chaining, slot sharing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from penstock.api.argument_checks import location
from penstock.errors import ProgramError
from penstock.graph.nodes import Chaining

if TYPE_CHECKING:
    from penstock.graph.nodes import Graph
    from penstock.vocabulary.settings.slots import SlotSharingGroup

__all__ = ["StepSettings", "check_max_parallelism", "check_parallelism"]

_MOST_KEY_GROUPS = 1 << 15


def check_parallelism(parallelism: Any) -> int:
    """Return a parallelism that is one, and refuse others."""
    if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
        message = f"The parallelism must be a whole number of at least 1, not {parallelism!r}."
        raise ProgramError(message, location())
    return parallelism


def check_max_parallelism(max_parallelism: Any) -> int:
    """Return a maximum parallelism that is one, and refuse others."""
    if not isinstance(max_parallelism, int) or not 0 < max_parallelism <= _MOST_KEY_GROUPS:
        message = f"The maximum parallelism must be 1 to {_MOST_KEY_GROUPS}, not {max_parallelism!r}."
        raise ProgramError(message, location())
    return max_parallelism


class StepSettings(ABC):
    """Settings of the step that a stream or sink stands for. Each method returns the object itself."""

    @property
    @abstractmethod
    def _graph(self) -> Graph:
        """Return the graph that holds the step."""

    @abstractmethod
    def _settings_node(self, setting: str) -> int:
        """Return the node whose settings are changed."""

    def _set(self, setting: str, **changes: Any) -> Self:
        node = self._settings_node(setting)
        self._graph.update(node, **changes)
        return self

    def name(self, name: str) -> Self:
        """Set the name that plans, logs and the web page show."""
        return self._set("name", name=name)

    def uid(self, uid: str) -> Self:
        """Set the id by which the step finds its state again in a savepoint; must be unique in the job."""
        return self._set("uid", uid=uid)

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set the operator id itself, 32 hexadecimal digits: for state written under a generated id."""
        if len(uid_hash) != 32 or any(digit not in "0123456789abcdef" for digit in uid_hash):
            message = f"A uid hash has 32 hexadecimal digits (lower case), not {uid_hash!r}."
            raise ProgramError(message, location())
        return self._set("set_uid_hash", uid_hash=uid_hash)

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of parallel subtasks of this step."""
        node = self._graph.nodes[self._settings_node("set_parallelism")]
        if node.is_parallelism_fixed and check_parallelism(parallelism) != 1:
            message = f"The step {node.name!r} cannot run in parallel; its parallelism is 1."
            raise ProgramError(message, location())
        return self._set("set_parallelism", parallelism=check_parallelism(parallelism))

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups, the most subtasks the step can ever be rescaled to."""
        return self._set("set_max_parallelism", max_parallelism=check_max_parallelism(max_parallelism))

    def set_description(self, description: str) -> Self:
        """Set a longer text for plans."""
        return self._set("set_description", description=description)

    def disable_chaining(self) -> Self:
        """Run this step in subtasks of its own."""
        return self._set("disable_chaining", chaining=Chaining.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Put the step into a group, which must name no resources; steps of different groups are not chained."""
        if not isinstance(slot_sharing_group, str) and slot_sharing_group.has_resources():
            message = (
                f"The slot sharing group {slot_sharing_group.get_name()!r} names the resources of a slot, but all slots"
                " of a Spark session are alike. Leave the resources out, and set spark.executor.cores,"
                " spark.executor.memory and spark.task.cpus for the session."
            )
            raise ProgramError(message, location())
        name = slot_sharing_group if isinstance(slot_sharing_group, str) else slot_sharing_group.get_name()
        return self._set("slot_sharing_group", slot_sharing_group=name)
