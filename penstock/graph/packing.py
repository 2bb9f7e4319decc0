"""A job as it travels to its tasks: every step, and every way of spreading records, in bytes of its own.

A program may use one object in two steps, or let one function hold another. In Flink each subtask of each step has its
own copy of everything that belongs to the step. Pickle keeps what was one object one object, so each step is pickled by
itself, wherever it will run: what belongs to one step stays together, what two steps have in common is there twice.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, TypeVar

import cloudpickle

from penstock.graph.partitioning import Partitioning
from penstock.graph.steps import Step

if TYPE_CHECKING:
    from penstock.graph.job import Job

__all__ = ["own_copy", "pack_job", "unpack_job"]

Part = TypeVar("Part")


class _JobPickler(cloudpickle.Pickler):  # type: ignore[misc]
    def persistent_id(self, obj: Any) -> bytes | None:
        # Asked about each occurrence, also of an object that two nodes or edges refer to.
        return cloudpickle.dumps(obj) if isinstance(obj, (Step, Partitioning)) else None


class _JobUnpickler(pickle.Unpickler):
    def persistent_load(self, pid: bytes) -> Any:
        return cloudpickle.loads(pid)


def pack_job(job: Job) -> bytes:
    """Return the job in bytes, from which every task makes its own."""
    buffer = io.BytesIO()
    _JobPickler(buffer).dump(job)
    return buffer.getvalue()


def unpack_job(packed: bytes) -> Job:
    """Return a job whose steps share no object with each other, with those of other tasks, or with the program."""
    job: Job = _JobUnpickler(io.BytesIO(packed)).load()
    return job


def own_copy(part: Part) -> Part:
    """Return a copy of a step for whoever works with it outside of a task."""
    copied: Part = cloudpickle.loads(cloudpickle.dumps(part))
    return copied
