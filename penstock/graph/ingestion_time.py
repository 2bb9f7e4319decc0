"""Ingestion time: records get the time at which their source hands them over, and watermarks follow the clock."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.nodes import Graph, Node, Upstream
from penstock.graph.steps import SourceFunctionStep, SourceStep, TimestampStep
from penstock.vocabulary.time.strategy import WatermarkStrategy

__all__ = ["stamp_sources"]


def stamp_sources(graph: Graph) -> Graph:
    """Return the graph with ingestion time behind every source that has no strategy of its own.

    As in Flink this happens when the job is made: the characteristic counts, whenever the program has set it. A source
    function may give records times of its own, so they are replaced in a step of their own behind it.
    """
    strategy = WatermarkStrategy.for_ingestion_time()
    nodes: dict[int, Node] = {}
    stamped: dict[int, int] = {}
    next_id = max(graph.nodes, default=0) + 1
    for node in graph.nodes.values():
        if isinstance(node.step, SourceStep) and _has_no_time(node.step):
            nodes[node.id] = replace(node, step=replace(node.step, strategy=strategy))
            continue
        upstreams = tuple(
            replace(upstream, node=stamped[upstream.node])
            if upstream.tag is None and upstream.node in stamped
            else upstream
            for upstream in node.upstreams
        )
        nodes[node.id] = replace(node, upstreams=upstreams) if node.upstreams else node
        if isinstance(node.step, SourceFunctionStep):
            nodes[next_id] = _stamping(next_id, node, strategy)
            stamped[node.id] = next_id
            next_id += 1
    return Graph(nodes)


def _has_no_time(step: SourceStep) -> bool:
    strategy = step.strategy
    return strategy is None or not (strategy.makes_watermarks or strategy.timestamp_assigner is not None)


def _stamping(node_id: int, source: Node, strategy: WatermarkStrategy) -> Node:
    return Node(
        id=node_id,
        name="Ingestion Time",
        step=TimestampStep(strategy=strategy),
        upstreams=(Upstream(source.id),),
        location=source.location,
        parallelism=source.parallelism,
        inherited_parallelism=source.inherited_parallelism,
        max_parallelism=source.max_parallelism,
        is_parallelism_fixed=source.is_parallelism_fixed,
        uid_hash=f"ingestion-time-{source.operator_id}",
        slot_sharing_group=source.slot_sharing_group,
        output_type=source.output_type,
    )
