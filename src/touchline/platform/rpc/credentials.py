"""Who calls, and how both sides of a call prove that they know the cluster secret.

Invariants: a proof covers the method, the nonce and every byte of the message, and one kind of proof is never another
kind. No call is admitted twice. A caller that does not know the secret, or whose call is too old or a replay, learns
only that it was refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from heapq import heappop, heappush
from secrets import token_bytes
from uuid import UUID

from google.protobuf.message import DecodeError

from touchline.contracts.rpc.v1.common_pb2 import Caller, Credentials
from touchline.kernel import (
    Clock,
    Misconfigured,
    Principal,
    Role,
    Scope,
    TenantId,
    Unauthenticated,
    UserId,
    current_trace,
    epoch_ms,
)

from .calls import identified


@dataclass(frozen=True, slots=True)
class RpcCall:
    """What a service knows about the call that it answers."""

    caller: Principal | None

    @property
    def principal(self) -> Principal:
        """For a service that needs one, which then checks what it may do."""
        return identified(self.caller)


def to_caller(principal: Principal) -> Caller:
    return Caller(
        tenant_id=str(principal.tenant_id),
        user_id=str(principal.user_id),
        role=principal.role,
        limited=principal.scopes is not None,
        scopes=sorted(principal.scopes or ()),
    )


def to_principal(caller: Caller) -> Principal:
    return Principal(
        tenant_id=TenantId(UUID(caller.tenant_id)),
        user_id=UserId(UUID(caller.user_id)),
        role=Role(caller.role),
        scopes=frozenset(map(Scope, caller.scopes)) if caller.limited else None,
    )


_PURPOSE = b"touchline.rpc.v1"
NO_BODY = b""  # a stream is signed when it is opened


class ProofSigner:
    def __init__(self, cluster_secret: str) -> None:
        if not cluster_secret:
            raise Misconfigured("there is no cluster secret", hint="Set `cluster_secret`, the same for every process.")
        self._key = hmac.digest(cluster_secret.encode(), _PURPOSE, "sha256")

    def sign_call(self, method: str, credentials: bytes, request: bytes) -> bytes:
        return self._sign(b"call", method.encode(), credentials, request)

    def sign_answer(self, method: str, nonce: bytes, answer: bytes) -> bytes:
        return self._sign(b"answer", method.encode(), nonce, answer)

    def sign_failure(self, method: str, nonce: bytes, failure: bytes) -> bytes:
        return self._sign(b"failure", method.encode(), nonce, failure)

    def _sign(self, *parts: bytes) -> bytes:
        """Each part is hashed first, so that no byte can move from one part to the next."""
        return hmac.digest(self._key, b"".join(sha256(part).digest() for part in parts), "sha256")


def is_same_proof(proof: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(proof, expected)


class ReplayGuard:
    def __init__(self, tolerance: timedelta, most: int) -> None:
        self._tolerance_ms = tolerance // timedelta(milliseconds=1)
        self._most = most
        self._seen: set[bytes] = set()
        self._by_time: list[tuple[int, bytes]] = []
        self._forgotten_ms = 0  # the newest time of which a call was forgotten

    def admit(self, nonce: bytes, time_ms: int, now_ms: int) -> bool:
        if abs(now_ms - time_ms) > self._tolerance_ms or time_ms <= self._forgotten_ms or nonce in self._seen:
            return False
        self._seen.add(nonce)
        heappush(self._by_time, (time_ms, nonce))
        while len(self._by_time) > self._most or self._by_time[0][0] < now_ms - self._tolerance_ms:
            self._forgotten_ms, forgotten = heappop(self._by_time)
            self._seen.remove(forgotten)
        return True


CREDENTIALS = "touchline-credentials-bin"
PROOF = "touchline-proof-bin"
FAILURE = "touchline-failure-bin"
NONCE_BYTES = 16

Metadata = Iterable[tuple[str, str | bytes]]


def new_credentials(caller: Principal | None, clock: Clock) -> Credentials:
    return Credentials(
        time_ms=epoch_ms(clock.now()),
        nonce=token_bytes(NONCE_BYTES),
        caller=None if caller is None else to_caller(caller),
        trace=current_trace() or "",
    )


def metadata_value(metadata: Metadata | None, name: str) -> bytes:
    """Empty when there is none."""
    for key, found in metadata or ():
        if key == name and isinstance(found, bytes):
            return found
    return b""


class CallAuthenticator:
    """The server's side: admits each call once."""

    def __init__(self, proofs: ProofSigner, guard: ReplayGuard, clock: Clock) -> None:
        self._proofs = proofs
        self._guard = guard
        self._clock = clock

    def admit(self, method: str, metadata: Metadata | None, request: bytes) -> Credentials:
        signed = metadata_value(metadata, CREDENTIALS)
        if not is_same_proof(metadata_value(metadata, PROOF), self._proofs.sign_call(method, signed, request)):
            raise Unauthenticated("the caller does not know the cluster secret")
        try:
            credentials = Credentials.FromString(signed)
        except DecodeError as error:
            raise Unauthenticated("the credentials cannot be read") from error
        if len(credentials.nonce) != NONCE_BYTES:
            raise Unauthenticated("the credentials cannot be read")
        if not self._guard.admit(credentials.nonce, credentials.time_ms, epoch_ms(self._clock.now())):
            raise Unauthenticated("the call is too old, from the future, or a replay")
        return credentials
