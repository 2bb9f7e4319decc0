"""How two ends of the control channel prove to each other that they know the job's key, before anything else is read.

The driver speaks first: a greeting and 32 random bytes. The task answers with 32 random bytes of its own and a keyed
hash over both, the driver with another one. Neither the key nor anything that could be used again goes over the wire,
and all messages have a fixed, small size. Every later frame carries a tag made with a key of this connection only.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

__all__ = ["ANSWER_BYTES", "CHALLENGE_BYTES", "PROOF_BYTES", "Handshake", "SessionKeys"]

_GREETING = b"penstock"
_NONCE_BYTES = 32
CHALLENGE_BYTES = len(_GREETING) + _NONCE_BYTES
PROOF_BYTES = 32
ANSWER_BYTES = _NONCE_BYTES + PROOF_BYTES


@dataclass(frozen=True)
class SessionKeys:
    """What the frames of one connection are tagged with, one key for each direction."""

    to_driver: bytes = field(repr=False)
    to_task: bytes = field(repr=False)


class Handshake:
    """One exchange of proofs; the same class serves both ends, without any input or output."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._nonces = b""

    def challenge(self) -> bytes:
        """Return what the driver says first."""
        self._nonces = secrets.token_bytes(_NONCE_BYTES)
        return _GREETING + self._nonces

    def answer(self, challenge: bytes) -> bytes:
        """Return what a task replies; raises ``ConnectionError`` where the other end is no driver."""
        if not challenge.startswith(_GREETING):
            message = "what listens there is not the driver of a job"
            raise ConnectionError(message)
        self._nonces = challenge[len(_GREETING) :] + secrets.token_bytes(_NONCE_BYTES)
        return self._nonces[_NONCE_BYTES:] + self._hash(b"task")

    def accept(self, answer: bytes) -> bytes | None:
        """Return the driver's own proof where the task's is right, ``None`` where it is not."""
        self._nonces += answer[:_NONCE_BYTES]
        if not hmac.compare_digest(answer[_NONCE_BYTES:], self._hash(b"task")):
            return None
        return self._hash(b"driver")

    def check(self, proof: bytes) -> None:
        """Check the driver's proof; raises ``ConnectionError`` where it is wrong."""
        if not hmac.compare_digest(proof, self._hash(b"driver")):
            message = "what listens there does not know the job's key"
            raise ConnectionError(message)

    def session_keys(self) -> SessionKeys:
        """Return the keys of the frames that follow."""
        return SessionKeys(self._hash(b"to driver"), self._hash(b"to task"))

    def _hash(self, purpose: bytes) -> bytes:
        return hmac.new(self._key, purpose + b":" + self._nonces, hashlib.sha256).digest()
