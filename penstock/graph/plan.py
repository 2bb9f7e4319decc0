"""From the written graph to what runs: operator chains, and the linear sequence of stages Spark needs.

A *vertex* is a chain of nodes that run in one call stack (Flink's JobVertex). A *stage* holds all vertices of one
exchange depth: Spark's pipelined shuffle allows a producer one consumer only, so stages form a line, and records for a
deeper stage pass through the ones between.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.errors import ProgramError
from penstock.graph.nodes import Chaining, Graph, Node, Upstream
from penstock.graph.partitioning import Forward, Partitioning, Rebalance

if TYPE_CHECKING:
    from penstock.graph.settings import JobSettings

__all__ = ["DEFAULT_SLOT_SHARING_GROUP", "ChainLink", "Edge", "Plan", "Stage", "Vertex", "make_plan"]

DEFAULT_SLOT_SHARING_GROUP = "default"


@dataclass(frozen=True)
class ChainLink:
    """A hand-over inside a chain: the records of ``source`` (or of its side output) go straight to ``target``."""

    source: int
    target: int
    tag: str | None


@dataclass(frozen=True)
class Vertex:
    """A chain of nodes with one parallelism."""

    id: int
    nodes: tuple[Node, ...]
    links: tuple[ChainLink, ...]
    parallelism: int
    max_parallelism: int
    stage: int
    buffer_timeout: int
    slot_sharing_group: str = DEFAULT_SLOT_SHARING_GROUP
    is_max_parallelism_set: bool = False
    """Whether the program says what the max parallelism is; otherwise that of restored state is taken over."""

    @property
    def head(self) -> Node:
        """Return the node that takes the chain's input."""
        return self.nodes[0]

    @property
    def name(self) -> str:
        """Return the names of the chained nodes, as Flink shows them."""
        return " -> ".join(node.name for node in self.nodes)

    @property
    def is_source(self) -> bool:
        """Tell whether the chain starts with a source."""
        return self.head.is_source


@dataclass(frozen=True)
class Edge:
    """An exchange between two vertices."""

    id: int
    source: int
    source_node: int
    tag: str | None
    target: int
    input: int
    partitioning: Partitioning


@dataclass(frozen=True)
class Stage:
    """The vertices of one exchange depth; subtask i of each runs in Spark task i of the stage."""

    index: int
    parallelism: int
    vertices: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Everything the execution needs to know about the shape of a job."""

    vertices: dict[int, Vertex]
    edges: tuple[Edge, ...]
    stages: tuple[Stage, ...]

    @property
    def spark_slots(self) -> int:
        """Return how many Spark task slots must be free at the same time."""
        return sum(stage.parallelism for stage in self.stages)

    @property
    def flink_slots(self) -> int:
        """Return how many slots Flink would need: slots are shared, so each group needs its largest parallelism."""
        largest: dict[str, int] = defaultdict(int)
        for vertex in self.vertices.values():
            largest[vertex.slot_sharing_group] = max(largest[vertex.slot_sharing_group], vertex.parallelism)
        return sum(largest.values())

    @property
    def subtasks(self) -> int:
        """Return the number of execution vertices."""
        return sum(vertex.parallelism for vertex in self.vertices.values())

    def inputs_of(self, vertex: int) -> tuple[Edge, ...]:
        """Return the edges that end at a vertex."""
        return tuple(edge for edge in self.edges if edge.target == vertex)

    def outputs_of(self, vertex: int) -> tuple[Edge, ...]:
        """Return the edges that start at a vertex."""
        return tuple(edge for edge in self.edges if edge.source == vertex)


@dataclass(frozen=True)
class _Link:
    """An input of a node, with everything decided."""

    source: Node
    target: Node
    upstream: Upstream
    partitioning: Partitioning
    is_chained: bool


def make_plan(graph: Graph, settings: JobSettings, *, ends_with_sinks: bool = False) -> Plan:
    """Cut a graph into chains and stages.

    With ``ends_with_sinks`` all sinks are in the last stage, as batch needs it: nothing runs again behind it, so each
    of its subtasks has exactly one attempt that counts.
    """
    parallelism = {node.id: settings.parallelism_of(node) for node in graph.nodes.values()}
    groups = _slot_sharing_groups(graph)
    links = [
        _decide(graph, node, upstream, parallelism, groups, settings)
        for node in graph.nodes.values()
        for upstream in node.upstreams
    ]
    chain_of = _chains(graph, links)
    depth = _depths(graph, links, chain_of)
    if ends_with_sinks:
        last = max(depth[chain] for chain in chain_of.values())
        links = [
            replace(
                link,
                is_chained=link.is_chained and not (link.target.is_sink and depth[chain_of[link.target.id]] < last),
            )
            for link in links
        ]
        chain_of = _chains(graph, links)
        depth = _depths(graph, links, chain_of)
        depth.update({chain_of[node.id]: last for node in graph.nodes.values() if node.is_sink})
    vertices = _vertices(graph, links, chain_of, depth, parallelism, groups, settings)
    edges = [
        Edge(
            id=number,
            source=chain_of[link.source.id],
            source_node=link.source.id,
            tag=link.upstream.tag,
            target=chain_of[link.target.id],
            input=link.upstream.input,
            partitioning=link.partitioning,
        )
        for number, link in enumerate(link for link in links if not link.is_chained)
    ]
    return Plan(vertices=vertices, edges=tuple(edges), stages=_stages(vertices))


def _decide(
    graph: Graph,
    node: Node,
    upstream: Upstream,
    parallelism: dict[int, int],
    groups: dict[int, str],
    settings: JobSettings,
) -> _Link:
    source = graph.nodes[upstream.node]
    is_equal = parallelism[source.id] == parallelism[node.id]
    partitioning = upstream.partitioning or (Forward() if is_equal else Rebalance())
    if isinstance(partitioning, Forward) and not is_equal:
        message = (
            f"forward() needs equal parallelism, but {source.label!r} has {parallelism[source.id]} and"
            f" {node.label!r} has {parallelism[node.id]}. Use rebalance() or rescale(), or set the same parallelism."
        )
        raise ProgramError(message, node.location)
    is_chained = (
        settings.is_chaining_enabled
        and isinstance(partitioning, Forward)
        and len(node.upstreams) == 1
        and node.chaining is Chaining.ALWAYS
        and source.chaining is not Chaining.NEVER
        and groups[node.id] == groups[source.id]
    )
    return _Link(source, node, upstream, partitioning, is_chained)


def _slot_sharing_groups(graph: Graph) -> dict[int, str]:
    """Return the group of each node: its own, else the one that all of its inputs are in."""
    groups: dict[int, str] = {}
    for node in graph.nodes.values():
        inherited = {groups[upstream.node] for upstream in node.upstreams}
        groups[node.id] = node.slot_sharing_group or (
            inherited.pop() if len(inherited) == 1 else DEFAULT_SLOT_SHARING_GROUP
        )
    return groups


def _chains(graph: Graph, links: list[_Link]) -> dict[int, int]:
    """Map each node to its chain, named by the chain's first node; nodes are in topological order by construction."""
    chained_to = {link.target.id: link.source.id for link in links if link.is_chained}
    chain_of: dict[int, int] = {}
    for node_id in graph.nodes:
        chain_of[node_id] = chain_of[chained_to[node_id]] if node_id in chained_to else node_id
    return chain_of


def _depths(graph: Graph, links: list[_Link], chain_of: dict[int, int]) -> dict[int, int]:
    """Return the longest number of exchanges on the way to each chain."""
    depth: dict[int, int] = defaultdict(int)
    inputs = defaultdict(list)
    for link in links:
        inputs[link.target.id].append(link)
    for node_id in graph.nodes:
        chain = chain_of[node_id]
        for link in inputs[node_id]:
            if not link.is_chained:
                depth[chain] = max(depth[chain], depth[chain_of[link.source.id]] + 1)
    return depth


def _vertices(
    graph: Graph,
    links: list[_Link],
    chain_of: dict[int, int],
    depth: dict[int, int],
    parallelism: dict[int, int],
    groups: dict[int, str],
    settings: JobSettings,
) -> dict[int, Vertex]:
    members: dict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes.values():
        members[chain_of[node.id]].append(node)
    inner: dict[int, list[ChainLink]] = defaultdict(list)
    for link in links:
        if link.is_chained:
            inner[chain_of[link.source.id]].append(ChainLink(link.source.id, link.target.id, link.upstream.tag))
    return {
        chain: Vertex(
            id=chain,
            nodes=tuple(nodes),
            links=tuple(inner[chain]),
            parallelism=parallelism[chain],
            max_parallelism=settings.max_parallelism_of(nodes[0], parallelism[chain]),
            stage=depth[chain],
            buffer_timeout=min(settings.buffer_timeout_of(node) for node in nodes),
            slot_sharing_group=groups[chain],
            is_max_parallelism_set=settings.is_max_parallelism_set(nodes[0]),
        )
        for chain, nodes in members.items()
    }


def _stages(vertices: dict[int, Vertex]) -> tuple[Stage, ...]:
    by_depth: dict[int, list[Vertex]] = defaultdict(list)
    for vertex in vertices.values():
        by_depth[vertex.stage].append(vertex)
    return tuple(
        Stage(
            index=index,
            parallelism=max(vertex.parallelism for vertex in by_depth[index]),
            vertices=tuple(vertex.id for vertex in by_depth[index]),
        )
        for index in sorted(by_depth)
    )
