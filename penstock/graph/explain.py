"""Shows a plan: as text for people, as JSON in Flink's form for tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from penstock.graph.batch_mode import for_batch
from penstock.graph.partitioning import Forward, Rebalance
from penstock.graph.plan import Plan, Vertex, make_plan

if TYPE_CHECKING:
    from penstock.graph.nodes import Graph, Node
    from penstock.graph.settings import JobSettings

__all__ = ["explain", "plan_json"]


def plan_json(graph: Graph, settings: JobSettings) -> str:
    """Return the graph as JSON, in the form of Flink's ``getExecutionPlan``."""
    nodes = [_json_node(graph, node, settings) for node in graph.nodes.values()]
    return json.dumps({"nodes": nodes}, indent=2, ensure_ascii=False)


def _json_node(graph: Graph, node: Node, settings: JobSettings) -> dict[str, Any]:
    kind = f"Source: {node.name}" if node.is_source else f"Sink: {node.name}" if node.is_sink else node.name
    parallelism = settings.parallelism_of(node)
    shown: dict[str, Any] = {
        "id": node.id,
        "type": kind,
        "pact": "Data Source" if node.is_source else "Data Sink" if node.is_sink else "Operator",
        "contents": node.description or kind,
        "parallelism": parallelism,
    }
    if node.uid is not None:
        shown["uid"] = node.uid
    if node.upstreams:
        shown["predecessors"] = [
            {
                "id": up.node,
                "ship_strategy": (
                    up.partitioning
                    or (Forward() if settings.parallelism_of(graph.nodes[up.node]) == parallelism else Rebalance())
                ).label,
                "side": "first" if up.input == 0 else "second",
                **({"side_output": up.tag} if up.tag is not None else {}),
            }
            for up in node.upstreams
        ]
    return shown


def explain(graph: Graph, settings: JobSettings, *, is_batch: bool = False) -> str:
    """Return the plan as text: stages, chains, exchanges, slots."""
    plan = make_plan(for_batch(graph), settings, ends_with_sinks=True) if is_batch else make_plan(graph, settings)
    slots = (
        "runs stage by stage (BATCH) and needs one Spark task slot"
        if is_batch
        else f"needs {plan.spark_slots} Spark task slots at the same time (Flink would share {plan.flink_slots} slots)"
    )
    lines = [
        f"Job {settings.name!r}: {len(plan.vertices)} chains, {plan.subtasks} subtasks,"
        f" {len(plan.stages)} Spark stages",
        f"  {slots}",
    ]
    for stage in plan.stages:
        lines.append(f"Stage {stage.index} (parallelism {stage.parallelism})")
        for vertex_id in stage.vertices:
            lines.extend(_vertex_lines(plan, plan.vertices[vertex_id]))
    return "\n".join(lines)


def _vertex_lines(plan: Plan, vertex: Vertex) -> list[str]:
    lines = [f"  [{vertex.id}] {vertex.name} (parallelism {vertex.parallelism})"]
    for node in vertex.nodes:
        uid = f"uid {node.uid!r}" if node.uid else "generated id"
        state = ", keyed state" if node.step.key is not None else ""
        lines.append(f"      {node.name}: {uid}{state}" + (f", {node.description}" if node.description else ""))
    for edge in plan.inputs_of(vertex.id):
        side = f" side output {edge.tag!r}" if edge.tag else ""
        lines.append(f"    <- [{edge.source}]{side} {edge.partitioning.label}")
    return lines
