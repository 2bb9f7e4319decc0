"""The splits of a job's sources: numbered on the driver, handed to the tasks, more of them while the job runs."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import JobFailedError, PenstockError
from penstock.execution.spark.control.messages import AddSplits
from penstock.runtime.diagnostics.failure import explain_unusable
from penstock.runtime.sources.enumeration import SplitEnumeration, restored_splits, split_sources
from penstock.vocabulary.program_checks import UnusableValueError

if TYPE_CHECKING:
    from penstock.execution.spark.control.server import ControlServer
    from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess
    from penstock.graph.job import Job
    from penstock.graph.nodes import Node
    from penstock.graph.plan import Vertex
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["SourceSplits", "numbered_splits"]

_log = logging.getLogger("penstock.job")


class SourceSplits:
    """Enumerates the splits of all sources for one attempt."""

    def __init__(self, job: Job, access: CheckpointAccess) -> None:
        self._job = job
        self._sources = split_sources(job.plan)
        self._enumerations = {
            node.operator_id: _enumerate(vertex, node, source, access) for vertex, node, source in self._sources
        }
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def numbered(self) -> dict[str, dict[int, SourceSplit]]:
        """Return the splits of each source, by operator id, as they are handed to all tasks at the start."""
        return {operator: dict(enumeration.splits) for operator, enumeration in self._enumerations.items()}

    def start_discovery(self, server: ControlServer) -> None:
        """Look for new splits, each source in its own interval, and tell the subtasks that read them."""
        for vertex, node, source in self._sources:
            if source.discovery_interval is not None:
                thread = threading.Thread(
                    target=self._discover, args=(vertex, node, source.discovery_interval, server), daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def stop(self) -> None:
        """Look for no more splits."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(1.0)

    def _discover(self, vertex: Vertex, node: Node, interval: int, server: ControlServer) -> None:
        enumeration = self._enumerations[node.operator_id]
        while not self._stopped.wait(interval / 1000):
            try:
                new = enumeration.discover()
            except Exception as error:  # whatever the source's system raises; it may answer the next time
                _log.warning("job %r: source %r: looking for new splits failed: %s", self._job.name, node.name, error)
                continue
            for index in range(vertex.parallelism):
                mine = enumeration.of_subtask(index, new)
                if mine and not self._stopped.is_set():
                    server.send((vertex.stage, index), AddSplits(vertex.id, mine))


def numbered_splits(job: Job) -> dict[str, dict[int, SourceSplit]]:
    """Return the splits of each source of a job that starts from nothing, by operator id."""
    return {
        node.operator_id: dict(_enumerate(vertex, node, source, None).splits)
        for vertex, node, source in split_sources(job.plan)
    }


def _enumerate(vertex: Vertex, node: Node, source: Any, access: CheckpointAccess | None) -> SplitEnumeration:
    restored = None if access is None else restored_splits(access.states, access.files, vertex.id, node.operator_id)
    try:
        return SplitEnumeration(source, vertex.parallelism, restored)
    except UnusableValueError as error:
        raise explain_unusable(error, node.label) from error
    except PenstockError:
        raise
    except Exception as error:
        # It may be there after the next restart: a broker, a file system.
        message = f"The source {node.label!r} cannot be divided into splits: {type(error).__name__}: {error}"
        raise JobFailedError(message) from error
