"""The graph a program writes down: frozen nodes and the edges between them."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.partitioning import Partitioning
    from penstock.graph.steps import Step

__all__ = ["GENERATED", "Chaining", "Graph", "Node", "Upstream"]


GENERATED = "generated-"
"""How the id of a step begins to which the program gave none."""


class Chaining(enum.Enum):
    """Whether a node may run in one call stack with its neighbours."""

    ALWAYS = "always"
    HEAD = "head"
    """Starts a chain: not joined to what comes before."""
    NEVER = "never"


@dataclass(frozen=True)
class Upstream:
    """One input of a node: where its records come from and how they are spread."""

    node: int
    partitioning: Partitioning | None = None
    """``None``: forward where the parallelism is equal, round-robin where it is not."""
    tag: str | None = None
    """The side output read, ``None`` for the main output."""
    input: int = 0
    """Which input of a two-input step this feeds."""


@dataclass(frozen=True)
class Node:
    """One step of the program with its settings."""

    id: int
    name: str
    step: Step
    upstreams: tuple[Upstream, ...] = ()
    location: str = ""
    parallelism: int | None = None
    inherited_parallelism: int | None = None
    """That of the environment when the step was added; it counts where the step sets none."""
    max_parallelism: int | None = None
    is_parallelism_fixed: bool = False
    """The step cannot run with another parallelism (``window_all``, a plain ``SourceFunction``)."""
    uid: str | None = None
    uid_hash: str | None = None
    chaining: Chaining = Chaining.ALWAYS
    slot_sharing_group: str | None = None
    buffer_timeout: int | None = None
    description: str | None = None
    is_sink: bool = False
    output_type: Any = None

    @property
    def is_source(self) -> bool:
        """Tell whether the node has no input."""
        return not self.upstreams

    @property
    def operator_id(self) -> str:
        """Return the id by which the step's state is found again; without a uid it changes when steps come or go."""
        return self.uid or self.uid_hash or f"{GENERATED}{self.id}"

    @property
    def label(self) -> str:
        """Return how messages name the step."""
        return f"{self.name} ({self.uid})" if self.uid else self.name


@dataclass
class Graph:
    """The nodes of one program, in the order they were written."""

    nodes: dict[int, Node] = field(default_factory=dict)
    parallelism: Callable[[], int] | None = None
    """Says what parallelism steps that are added now have unless they set their own."""

    def add(self, name: str, step: Step, upstreams: tuple[Upstream, ...] = (), **settings: Any) -> Node:
        """Add a step and return its node."""
        inherited = None if self.parallelism is None else self.parallelism()
        node = Node(
            id=len(self.nodes) + 1,
            name=name,
            step=step,
            upstreams=upstreams,
            inherited_parallelism=inherited,
            **settings,
        )
        self.nodes[node.id] = node
        return node

    def update(self, node_id: int, **settings: Any) -> Node:
        """Replace settings of a node: nodes themselves never change."""
        node = self.nodes[node_id] = dataclasses.replace(self.nodes[node_id], **settings)
        return node

    def since(self, first: int) -> Graph:
        """Return the graph of the nodes from an id on, with everything they read from."""
        wanted: set[int] = set()
        for node in reversed(self.nodes.values()):
            if node.id >= first or node.id in wanted:
                wanted.add(node.id)
                wanted.update(upstream.node for upstream in node.upstreams)
        return Graph({node.id: node for node in self.nodes.values() if node.id in wanted})

    def __len__(self) -> int:
        return len(self.nodes)
