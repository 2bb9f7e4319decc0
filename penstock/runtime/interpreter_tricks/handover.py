"""How results are handed over: by the accelerator with a look at reference counts, or by copying what can change.

A list or dictionary to which nobody but the receiver refers need not be copied. The accelerator tells that by the
number of references, of which some are Penstock's own: how many, depends on how the interpreter calls it. That is tried
here. Without the accelerator, or where the trial fails, :mod:`penstock.statestore.copying` does it by the types alone.
"""

from __future__ import annotations

from typing import Any

from penstock.foundation.native import native
from penstock.runtime.calls.value_calls import map_each
from penstock.runtime.interpreter_tricks.switch import Trick
from penstock.statestore import copying

__all__ = ["counts_references", "handed_over", "protect_run"]


def _trial() -> bool:
    """Learn how many references to a record are Penstock's own, and tell whether others are noticed."""
    map_each(lambda value: value, [[]], [], native.count_references)
    kept: list[Any] = [[1]]
    numbers: list[int] = []

    def fresh(_: Any) -> Any:
        result = [2]
        numbers.append(id(result))
        return result

    def keeping(_: Any) -> Any:
        kept.append([3])
        return kept[-1]

    run = [[], kept[0]]
    before = list(map(id, run))
    results: list[Any] = []
    for function in (lambda value: value, fresh, keeping):
        map_each(function, run, results, native.handed_over)
    same, copied, first, second, *others = map(id, results)
    found = (same, first, second) == (before[0], *numbers) and copied != before[1]
    return found and not set(others) & set(map(id, kept)) and results == [[], [1], [2], [2], [3], [3]]


counts_references: bool = (
    native is not None and Trick("the accelerator does not copy what nobody else refers to", _trial).is_in_use()
)
"""Whether the accelerator's calls that count references are used; this is settled when the module is imported."""

handed_over = copying.handed_over
protect_run = copying.protect_run
if counts_references:
    handed_over, protect_run = native.handed_over, native.protect_run
