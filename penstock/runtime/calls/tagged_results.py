"""Results of process functions: plain values for the main output, ``(tag, value)`` pairs for side outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.vocabulary.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.output import Output

__all__ = ["emit_results"]


def emit_results(output: Output, results: Values, timestamps: Timestamps) -> None:
    """Emit results, each to the output it is meant for."""
    if OutputTag.is_used:
        for result in results:
            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                _emit_tagged(output, results, timestamps)
                return
    output.emit(results, timestamps)


def _emit_tagged(output: Output, results: Values, timestamps: Timestamps) -> None:
    """Emit results in their order: a run of the main output ends where a result for a side output comes."""
    start = 0
    for position, result in enumerate(results):
        if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            if start < position:
                output.emit(results[start:position], None if timestamps is None else timestamps[start:position])
            start = position + 1
            output.side(result[0].tag_id)([result[1]], None if timestamps is None else [timestamps[position]])
    if start < len(results):
        output.emit(results[start:], None if timestamps is None else timestamps[start:])
