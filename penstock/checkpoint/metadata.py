"""What a checkpoint consists of, and the ``_metadata`` file that says so.

The file holds the versioned, checksummed description of one checkpoint or savepoint. Its layout, numbers
little-endian::

    b"PENCHKPT", u16 version, u64 length of the body, u32 CRC-32 of the body, the body

The body is a pickle of plain data only (dicts, lists, strings, numbers, bytes), so that it can be read without the
program and by any later Penstock. Operator state, which holds values of the program, is in it as bytes that are read
where they are needed. Keyed state and what operators keep for themselves is in files of its own unless it is small.
"""

from __future__ import annotations

import pickle
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.subtask_state import InputInfo, OperatorState
from penstock.errors import CorruptCheckpointError
from penstock.statestore.handles import KeyedStateHandle, StoredBytes
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.vocabulary.settings.modes import CheckpointKind, RecoveryClaimMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.checkpoint.coordinator_messages import StoreMetadata
    from penstock.checkpoint.subtask_state import SubtaskState

__all__ = ["METADATA", "CheckpointMetadata", "OperatorInfo", "OperatorMetadata"]

METADATA = "_metadata"
"""The name of the file that makes a checkpoint."""

_MAGIC = b"PENCHKPT"
_FLINK_MAGIC = bytes.fromhex("4960672d")
_VERSION = 3
_HEAD = struct.Struct("<8sHQI")


@dataclass(frozen=True)
class OperatorInfo:
    """What the job's plan says of an operator."""

    name: str
    parallelism: int
    max_parallelism: int
    is_source: bool = False
    """Whether all its subtasks get what each of them kept: splits may move, also if the parallelism is the same."""
    inputs: tuple[InputInfo, ...] = field(default=(), compare=False)
    """Where its records come from."""
    kind: str = field(default="", compare=False)
    """What kind of step it is: what an operator keeps for itself, another kind cannot read."""
    has_keys: bool = field(default=True, compare=False)
    """Whether an input is keyed."""


@dataclass(frozen=True)
class OperatorMetadata:
    """The state of one operator in all its subtasks."""

    info: OperatorInfo
    subtasks: dict[int, OperatorState] = field(default_factory=dict)
    in_flight: dict[int, StoredBytes] = field(default_factory=dict)
    """Records that an unaligned barrier has overtaken, for the first operator of a chain, by subtask."""

    @property
    def inputs(self) -> tuple[InputInfo, ...]:
        """Return where the records in flight came from."""
        return self.info.inputs


@dataclass(frozen=True)
class CheckpointMetadata:
    """One checkpoint or savepoint."""

    job_id: str
    checkpoint_id: int
    timestamp: int
    kind: CheckpointKind
    operators: dict[str, OperatorMetadata]
    """By operator id: the uid, or the hash that stands for it."""

    @staticmethod
    def of(job_id: str, action: StoreMetadata, infos: Mapping[str, OperatorInfo]) -> CheckpointMetadata:
        """Puts together what the tasks acknowledged; tasks are ``(vertex, subtask)``, states ``SubtaskState``."""
        operators = {operator: OperatorMetadata(info) for operator, info in infos.items()}
        for task, acknowledged in action.states.items():
            state: SubtaskState = acknowledged
            subtask: int = task[1]  # type: ignore[index]
            for operator, part in state.operators.items():
                operators[operator].subtasks[subtask] = part
            if state.in_flight is not None:
                # The operators of a chain come in their order, and the first one takes its input.
                operators[next(iter(state.operators))].in_flight[subtask] = state.in_flight
        options = action.options
        return CheckpointMetadata(job_id, action.checkpoint_id, options.timestamp, options.kind, operators)

    def stored(self) -> Iterator[StoredBytes]:
        """Returns all bytes that belong to the checkpoint, besides the metadata itself."""
        for operator in self.operators.values():
            yield from operator.in_flight.values()
            for state in operator.subtasks.values():
                yield from state.stored()

    def shared_kind(self, claim_mode: RecoveryClaimMode) -> CheckpointKind | None:
        """Returns what kind of savepoint it is for a job that starts from it, ``None`` if it is for that job alone."""
        return self.kind if self.kind.is_savepoint and claim_mode is not RecoveryClaimMode.CLAIM else None

    def shared_locations(self) -> set[str]:
        """Returns the files that other checkpoints of the same run may refer to as well."""
        return {stored.location for stored in self.stored() if stored.is_shared and stored.location is not None}

    def with_stored(self, change: Callable[[StoredBytes], StoredBytes]) -> CheckpointMetadata:
        """Returns the same checkpoint with its bytes stored elsewhere."""
        operators = {}
        for operator_id, operator in self.operators.items():
            subtasks = {}
            for subtask, state in operator.subtasks.items():
                keyed = tuple(
                    replace(handle, files=tuple((name, change(stored)) for name, stored in handle.files))
                    for handle in state.keyed
                )
                subtasks[subtask] = replace(state, keyed=keyed, own=tuple(map(change, state.own)))
            in_flight = {subtask: change(stored) for subtask, stored in operator.in_flight.items()}
            operators[operator_id] = replace(operator, subtasks=subtasks, in_flight=in_flight)
        return replace(self, operators=operators)

    @property
    def size(self) -> int:
        """Returns the number of bytes of all state, shared files included."""
        return sum(stored.size for stored in self.stored())

    def encode(self) -> bytes:
        """Returns the bytes of the file."""
        body = pickle.dumps(
            {
                "job_id": self.job_id,
                "checkpoint_id": self.checkpoint_id,
                "timestamp": self.timestamp,
                "kind": self.kind.value,
                "operators": {name: _operator_to_plain(operator) for name, operator in self.operators.items()},
            },
            5,
        )
        return _HEAD.pack(_MAGIC, _VERSION, len(body), zlib.crc32(body)) + body

    @staticmethod
    def decode(data: bytes, name: str) -> CheckpointMetadata:
        """Reads the bytes of the file ``name``.

        Raises:
            CorruptCheckpointError: The file is truncated, damaged or of a newer version.
        """
        if data[: len(_FLINK_MAGIC)] == _FLINK_MAGIC:
            problem = "was written by Apache Flink, whose state only Flink reads; here a job starts without it"
            raise CorruptCheckpointError(name, problem)
        if len(data) < _HEAD.size or data[: len(_MAGIC)] != _MAGIC:
            raise CorruptCheckpointError(name, f"is truncated at {len(data)} bytes or holds no checkpoint metadata")
        _, version, length, checksum = _HEAD.unpack_from(data)
        if version > _VERSION:
            problem = f"has version {version} of the metadata, and this Penstock reads up to version {_VERSION}"
            raise CorruptCheckpointError(name, problem)
        body = data[_HEAD.size :]
        if len(body) != length:
            raise CorruptCheckpointError(name, f"is truncated: {len(body)} of {length} bytes are there")
        if zlib.crc32(body) != checksum:
            raise CorruptCheckpointError(name, "is damaged (the checksum does not match)")
        plain = pickle.loads(body)
        return CheckpointMetadata(
            job_id=plain["job_id"],
            checkpoint_id=plain["checkpoint_id"],
            timestamp=plain["timestamp"],
            kind=CheckpointKind(plain["kind"]),
            operators={key: _operator_from_plain(operator) for key, operator in plain["operators"].items()},
        )


def _operator_to_plain(operator: OperatorMetadata) -> dict[str, Any]:
    return {
        "info": {**vars(operator.info), "inputs": [vars(each) for each in operator.info.inputs]},
        "subtasks": {subtask: _state_to_plain(state) for subtask, state in operator.subtasks.items()},
        "in_flight": {subtask: vars(stored) for subtask, stored in operator.in_flight.items()},
    }


def _operator_from_plain(plain: dict[str, Any]) -> OperatorMetadata:
    inputs = tuple(InputInfo(**each) for each in plain["info"].get("inputs", ()))
    return OperatorMetadata(
        info=OperatorInfo(**{**plain["info"], "inputs": inputs}),
        subtasks={subtask: _state_from_plain(state) for subtask, state in plain["subtasks"].items()},
        in_flight={subtask: StoredBytes(**stored) for subtask, stored in plain["in_flight"].items()},
    )


def _state_to_plain(state: OperatorState) -> dict[str, Any]:
    keyed = [
        {**vars(handle), "files": [(name, vars(stored)) for name, stored in handle.files]} for handle in state.keyed
    ]
    operator = None if state.operator is None else state.operator.to_plain()
    return {"keyed": keyed, "operator": operator, "own": [vars(stored) for stored in state.own]}


def _state_from_plain(plain: dict[str, Any]) -> OperatorState:
    keyed = tuple(
        KeyedStateHandle(
            handle["start"],
            handle["stop"],
            handle["form"],
            tuple((name, StoredBytes(**stored)) for name, stored in handle["files"]),
        )
        for handle in plain["keyed"]
    )
    operator = None if plain["operator"] is None else StoredOperatorState.from_plain(plain["operator"])
    return OperatorState(keyed, operator, tuple(_own_from_plain(own) for own in plain["own"]))


def _own_from_plain(own: bytes | dict[str, Any]) -> StoredBytes:
    """Read what an operator keeps for itself; in version 1 of the file its bytes were right there."""
    return StoredBytes(None, len(own), zlib.crc32(own), own) if isinstance(own, bytes) else StoredBytes(**own)
