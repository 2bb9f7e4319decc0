"""Functions whose last act is to yield, made into functions that return.

Process functions yield their results. Most of them yield one, at the end or not at all::

    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value
        self.total.update(total)
        if total > 10:
            yield total

For every record, the interpreter makes a generator, runs it, runs it again to find that nothing follows, and throws it
away, which can take longer than what the function does. Where nothing follows a ``yield``, ``return (total,)`` gives
the same results: a function returns them as anything that can be iterated. Here the bytecode of such functions is
changed accordingly, in a copy. A function that does anything after a ``yield``, yields in a loop or within ``try`` or
``with``, or returns something else than ``None``, stays as it is.

A generator turns a ``StopIteration`` of its own into a ``RuntimeError``. From Python 3.12 on, the bytecode does that;
whoever calls functions made here does it for 3.11: see :func:`stopped`.
"""

from __future__ import annotations

import dis
import inspect
from itertools import pairwise
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from penstock.runtime.interpreter_tricks.switch import Trick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["returning", "stopped"]

_PASSED_BY = frozenset({"RESUME", "NOP"})
_NOT_CHANGED = frozenset({"SEND", "GET_YIELD_FROM_ITER", "YIELD_FROM", "GET_AWAITABLE"})
_CONVERTS_STOP_ITERATION = 3
"""What the interpreter's own handler in generators does, from Python 3.12 on."""


def returning(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same results as a given one that makes no generator, if possible; or the given one."""
    function = call.__func__ if isinstance(call, MethodType) else call
    if not isinstance(function, FunctionType) or not inspect.isgeneratorfunction(function):
        return call
    if not _TRICK.is_in_use():
        return call
    code = _changed(function.__code__)
    if code is None:
        return call
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return MethodType(made, call.__self__) if isinstance(call, MethodType) else made


def stopped(error: StopIteration) -> RuntimeError:
    """Return what to raise from a ``StopIteration`` that a function has raised: others would take it for an end."""
    return RuntimeError(f"a function raised StopIteration({', '.join(map(repr, error.args))})")


def _changed(code: CodeType) -> CodeType | None:
    """Return the code that returns what it yields last; ``None`` where something follows a ``yield``."""
    bytecode = dis.Bytecode(code)
    instructions = list(bytecode)
    names = [instruction.opname for instruction in instructions]
    yields = [place for place, name in enumerate(names) if name == "YIELD_VALUE"]
    if not yields or _NOT_CHANGED.intersection(names) or not _has_only_the_handler_of_generators(bytecode):
        return None
    if not all(_ends_after(instructions, place) for place in yields) or not _returns_nothing(instructions):
        return None
    raw = bytearray(code.co_code)
    start = instructions[names.index("RETURN_GENERATOR")].offset
    raw[start : start + 4] = bytes([dis.opmap["NOP"], 0, dis.opmap["NOP"], 0])
    for place in yields:
        offset = instructions[place].offset
        raw[offset : offset + 4] = bytes([dis.opmap["BUILD_TUPLE"], 1, dis.opmap["RETURN_VALUE"], 0])
    return code.replace(co_code=bytes(raw), co_flags=code.co_flags & ~inspect.CO_GENERATOR)


def _has_only_the_handler_of_generators(bytecode: dis.Bytecode) -> bool:
    entries: Any = getattr(bytecode, "exception_entries", None)
    if entries is None:
        return False
    handlers = {entry.target for entry in entries}
    first = [instruction for instruction in bytecode if instruction.offset in handlers]
    return all(
        instruction.opname == "CALL_INTRINSIC_1" and instruction.arg == _CONVERTS_STOP_ITERATION
        for instruction in first
    )


def _ends_after(instructions: list[dis.Instruction], place: int) -> bool:
    """Tell whether the function does nothing behind a ``yield`` but return ``None``."""
    if [instruction.opname for instruction in instructions[place + 1 : place + 3]] != ["RESUME", "POP_TOP"]:
        return False
    steps = _steps(instructions, place + 3)
    last = next(steps, None)
    if last is None or last.argval is not None:
        return False
    if last.opname == "RETURN_CONST":
        return True
    then = next(steps, None)
    return last.opname == "LOAD_CONST" and then is not None and then.opname == "RETURN_VALUE"


def _returns_nothing(instructions: list[dis.Instruction]) -> bool:
    """Tell whether ``return`` always means ``None``: the caller of a generator does not see what else it returns."""
    for before, instruction in pairwise(instructions):
        if instruction.opname == "RETURN_VALUE" and (before.opname != "LOAD_CONST" or before.argval is not None):
            return False
        if instruction.opname == "RETURN_CONST" and instruction.argval is not None:
            return False
    return True


def _steps(instructions: list[dis.Instruction], place: int) -> Iterator[dis.Instruction]:
    """Return what is done from a place on, following jumps ahead."""
    places = {instruction.offset: number for number, instruction in enumerate(instructions)}
    while place < len(instructions):
        instruction = instructions[place]
        if instruction.opname == "JUMP_FORWARD":
            place = places[instruction.argval]
            continue
        if instruction.opname not in _PASSED_BY:
            yield instruction
        place += 1


def _trial() -> bool:
    def example(value: int, most: int = 2) -> Any:
        if value > most:
            yield value, most

    def goes_on(value: int) -> Any:
        yield value
        seen.append(value)

    seen: list[int] = []
    code = _changed(example.__code__)
    if code is None or _changed(goes_on.__code__) is not None:
        return False
    made = FunctionType(code, example.__globals__, "example", example.__defaults__)
    return (made(1), made(3), made(3, 4)) == (None, ((3, 2),), None)


_TRICK = Trick("functions whose last act is to yield return instead", _trial)
