"""The operators of one subtask, wired so that a record goes through them in one call stack."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from penstock.foundation.failure_context import noting
from penstock.runtime.exchange.key_selection import close_functions, open_functions, selectors_of
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.build import build_operator
from penstock.runtime.task.output import Output, Receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.graph.nodes import Node
    from penstock.graph.plan import Edge, Vertex
    from penstock.runtime.exchange.elements import Element
    from penstock.runtime.exchange.writer import ExchangeWriter
    from penstock.runtime.task.context import OperatorContext

__all__ = ["Chain", "build_chain"]


class Chain:
    """A vertex at work: its operators in topological order and the exchanges behind them."""

    def __init__(self, operators: Sequence[tuple[Node, Operator]], writers: Sequence[ExchangeWriter]) -> None:
        self.nodes = [node for node, _ in operators]
        self.operators = [operator for _, operator in operators]
        self.writers = writers
        # Those that may leave something unfinished.
        self.sliced = [each for each in self.operators if type(each).is_unfinished is not Operator.is_unfinished]
        self._opened: list[Operator] = []
        self._opened_writers: list[ExchangeWriter] = []

    @property
    def head(self) -> Operator:
        """Return the operator that takes the chain's input."""
        return self.operators[0]

    def open(self) -> None:
        """Open the exchanges and the operators, the last first: whoever opens may already emit."""
        for writer in self.writers:
            self._opened_writers.append(writer)
            writer.open()
        for operator in reversed(self.operators):
            self._opened.append(operator)
            try:
                open_functions(selectors_of(operator.key_functions), operator.context)
                operator.open()
            except BaseException as error:
                operator.note_failure(error)
                raise

    @property
    def is_unfinished(self) -> bool:
        """Tell whether an operator was left in the middle of something."""
        return any(operator.is_unfinished for operator in self.sliced)

    @property
    def may_be_left(self) -> bool:
        """Tell whether a snapshot may be taken now."""
        return all(operator.may_be_left for operator in self.sliced)

    def work_off(self) -> None:
        """Go on with what is unfinished: the last operator first, so that no other one gets too far ahead of it."""
        for operator in reversed(self.sliced):
            if operator.is_unfinished:
                try:
                    operator.work_off()
                except BaseException as error:
                    operator.note_failure(error)
                    raise
                return

    def end_input(self) -> None:
        """Tell the operators, the first first, that no more records come."""
        for operator in self.operators:
            noting(operator, operator.end_input)()
            while self.is_unfinished:
                self.work_off()

    def quiesce(self) -> None:
        """Let no timer of processing time fire any more."""
        for operator in self.operators:
            operator.quiesce()

    def broadcast(self, element: Element) -> None:
        """Send a control element over every exchange."""
        for writer in self.writers:
            writer.broadcast(element)

    def flush(self) -> None:
        """Send all unfilled blocks."""
        for writer in self.writers:
            writer.flush()

    def close(self) -> None:
        """Close everything that was opened, each exactly once; raise the first error after all are closed."""
        calls: list[Callable[[], None]] = []
        for operator in reversed(self._opened):
            calls += [noting(operator, operator.close), partial(close_functions, selectors_of(operator.key_functions))]
            if operator.context.state is not None:
                calls.append(operator.context.state.close)
        calls += [writer.close for writer in self._opened_writers]
        self._opened, self._opened_writers = [], []
        first_error: Exception | None = None
        for call in calls:
            try:
                call()
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error


def build_chain(
    vertex: Vertex,
    outputs: Sequence[Edge],
    *,
    make_context: Callable[[Node], OperatorContext],
    make_writer: Callable[[Edge], ExchangeWriter],
    is_batch: bool = False,
) -> Chain:
    """Build and wire the operators of a vertex for one subtask."""
    operators = {node.id: build_operator(node.step, is_batch=is_batch) for node in vertex.nodes}
    names = {node.id: node.label for node in vertex.nodes}
    writers: list[ExchangeWriter] = []
    receivers: dict[tuple[int, str | None], list[Receiver]] = defaultdict(list)
    for link in vertex.links:
        receivers[link.source, link.tag].append(operators[link.target])
    for edge in outputs:
        writer = make_writer(edge)
        writer.step = names[edge.source_node]
        writers.append(writer)
        receivers[edge.source_node, edge.tag].append(writer)
    for node in reversed(vertex.nodes):
        sides = {tag: found for (source, tag), found in receivers.items() if source == node.id and tag is not None}
        context = make_context(node)
        copies = not context.execution_config.is_object_reuse_enabled()
        operators[node.id].setup(context, Output(receivers[node.id, None], sides, copies=copies))
    for edge, writer in zip(outputs, writers, strict=True):
        writer.context = operators[edge.source_node].context
    return Chain([(node, operators[node.id]) for node in vertex.nodes], writers)
