"""What a checkpoint consists of, and the ``_metadata`` file that says so.

The file is a sealed piece of plain data (:mod:`penstock.foundation.plain_data`) that begins with ``PENCHKPT``. It can
be read without the program, by any later Penstock, and whatever is in it runs no code. Operator state, which holds
values of the program, is in it as bytes that are read where they are needed. Keyed state and what operators keep for
themselves is in files of its own unless it is small. Files are named by what Penstock itself calls them; no name leads
out of the directory of the checkpoint and of what checkpoints share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.subtask_state import InputInfo, OperatorState
from penstock.errors import CorruptCheckpointError
from penstock.foundation.plain_data import Fields, PlainDataError, seal, unseal
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
_VERSION = 4
"""The first one that lasts: all later Penstocks read it."""
_LOCATION = re.compile(r"(\.\./shared/)?[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*")
_FILE_NAME = re.compile(r"|[A-Za-z0-9_-][A-Za-z0-9._-]*")


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
        """Put together what the tasks acknowledged; tasks are ``(vertex, subtask)``, states ``SubtaskState``."""
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
        """Return all bytes that belong to the checkpoint, besides the metadata itself."""
        for operator in self.operators.values():
            yield from operator.in_flight.values()
            for state in operator.subtasks.values():
                yield from state.stored()

    def shared_kind(self, claim_mode: RecoveryClaimMode) -> CheckpointKind | None:
        """Return what kind of savepoint it is for a job that starts from it, ``None`` if it is for that job alone."""
        return self.kind if self.kind.is_savepoint and claim_mode is not RecoveryClaimMode.CLAIM else None

    def shared_locations(self) -> set[str]:
        """Return the files that other checkpoints of the same run may refer to as well."""
        return {stored.location for stored in self.stored() if stored.is_shared and stored.location is not None}

    def with_stored(self, change: Callable[[StoredBytes], StoredBytes]) -> CheckpointMetadata:
        """Return the same checkpoint with its bytes stored elsewhere."""
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
        """Return the number of bytes of all state, shared files included."""
        return sum(stored.size for stored in self.stored())

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        plain = {
            "job_id": self.job_id,
            "checkpoint_id": self.checkpoint_id,
            "timestamp": self.timestamp,
            "kind": self.kind.value,
            "operators": {name: _operator_to_plain(operator) for name, operator in self.operators.items()},
        }
        return seal(_MAGIC, _VERSION, plain)

    @staticmethod
    def decode(data: bytes, name: str) -> CheckpointMetadata:
        """Read the bytes of the file ``name``, without running any code.

        Raises:
            CorruptCheckpointError: The file is truncated, damaged or of a newer version.
        """
        if data[: len(_FLINK_MAGIC)] == _FLINK_MAGIC:
            problem = "was written by Apache Flink, whose state only Flink reads; here a job starts without it"
            raise CorruptCheckpointError(name, problem)
        try:
            with Fields(unseal(data, _MAGIC, range(_VERSION, _VERSION + 1), "checkpoint metadata"), "it") as fields:
                return CheckpointMetadata(
                    job_id=fields.take("job_id", str),
                    checkpoint_id=fields.take("checkpoint_id", int, least=0),
                    timestamp=fields.take("timestamp", int),
                    kind=CheckpointKind(fields.take("kind", str)),
                    operators=fields.take_dict("operators", str, _operator_from_plain),
                )
        except PlainDataError as error:
            raise CorruptCheckpointError(name, str(error)) from error
        except (ValueError, TypeError) as error:
            raise CorruptCheckpointError(name, f"is damaged or not written by Penstock ({error})") from error


def _operator_to_plain(operator: OperatorMetadata) -> dict[str, Any]:
    return {
        "info": {**vars(operator.info), "inputs": [dict(vars(each)) for each in operator.info.inputs]},
        "subtasks": {subtask: _state_to_plain(state) for subtask, state in operator.subtasks.items()},
        "in_flight": {subtask: dict(vars(stored)) for subtask, stored in operator.in_flight.items()},
    }


def _operator_from_plain(plain: Any) -> OperatorMetadata:
    with Fields(plain, "an operator") as fields:
        return OperatorMetadata(
            _info_from_plain(fields.take("info", dict)),
            fields.take_dict("subtasks", int, _state_from_plain),
            fields.take_dict("in_flight", int, _stored_from_plain),
        )


def _info_from_plain(plain: Any) -> OperatorInfo:
    with Fields(plain, "an operator") as fields:
        return OperatorInfo(
            fields.take("name", str),
            fields.take("parallelism", int, least=1),
            fields.take("max_parallelism", int, least=1),
            fields.take("is_source", bool),
            tuple(fields.take_list("inputs", _input_from_plain)),
            fields.take("kind", str),
            fields.take("has_keys", bool),
        )


def _input_from_plain(plain: Any) -> InputInfo:
    with Fields(plain, "an input") as fields:
        return InputInfo(
            fields.take("sender", str),
            fields.take_optional("tag", str),
            fields.take("input", int, least=0),
            fields.take("senders", int, least=1),
            fields.take("spread", str),
        )


def _state_to_plain(state: OperatorState) -> dict[str, Any]:
    keyed = [
        {**vars(handle), "files": [[name, dict(vars(each))] for name, each in handle.files]} for handle in state.keyed
    ]
    operator = None if state.operator is None else state.operator.to_plain()
    return {"keyed": keyed, "operator": operator, "own": [dict(vars(stored)) for stored in state.own]}


def _state_from_plain(plain: Any) -> OperatorState:
    with Fields(plain, "a state") as fields:
        operator = fields.take_optional("operator", dict)
        return OperatorState(
            tuple(fields.take_list("keyed", _handle_from_plain)),
            None if operator is None else StoredOperatorState.from_plain(operator),
            tuple(fields.take_list("own", _stored_from_plain)),
        )


def _handle_from_plain(plain: Any) -> KeyedStateHandle:
    with Fields(plain, "a keyed state") as fields:
        return KeyedStateHandle(
            fields.take("start", int, least=0),
            fields.take("stop", int, least=0),
            fields.take("form", str),
            tuple(fields.take_list("files", _file_from_plain)),
        )


def _file_from_plain(plain: Any) -> tuple[str, StoredBytes]:
    name, stored = plain
    if type(name) is not str or not _FILE_NAME.fullmatch(name):
        message = f"is damaged or not written by Penstock (a file is called {name!r:.80})"
        raise PlainDataError(message)
    return name, _stored_from_plain(stored)


def _stored_from_plain(plain: Any) -> StoredBytes:
    with Fields(plain, "a file") as fields:
        location = fields.take_optional("location", str)
        if location is not None and not _LOCATION.fullmatch(location):
            message = f"is damaged or not written by Penstock (a file is at {location!r:.80})"
            raise PlainDataError(message)
        return StoredBytes(
            location,
            fields.take("size", int, least=0),
            fields.take_optional("checksum", int),
            fields.take_optional("data", bytes),
            fields.take("is_shared", bool),
        )
