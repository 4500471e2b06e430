"""What both ends of a connection agree on: channel options, and how errors cross.

Invariant: an error has the same class and the same words on the other side; what is not one of our errors crosses as
`internal` and without its text, which may hold anything.

Who calls, and how both sides of a call prove that they know the cluster secret.

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
from typing import Any
from uuid import UUID

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError

from touchline.contracts.rpc.v1.common_pb2 import Caller, Credentials, Failure
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
    errors,
    surface,
)
from touchline.platform.settings import RpcSettings

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


_FIRST_RECONNECT = timedelta(milliseconds=100)
_LONGEST_RECONNECT = timedelta(seconds=2)  # reconnect soon after a service is back, not after two minutes

Options = list[tuple[str, int]]


def method_path(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def client_options(settings: RpcSettings) -> Options:
    return [
        *_common_options(settings),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.min_reconnect_backoff_ms", _milliseconds(_FIRST_RECONNECT)),
        ("grpc.max_reconnect_backoff_ms", _milliseconds(_LONGEST_RECONNECT)),
    ]


def server_options(settings: RpcSettings) -> Options:
    return [
        *_common_options(settings),
        ("grpc.so_reuseport", 0),  # two servers on one port would each get half of the calls
        ("grpc.http2.min_ping_interval_without_data_ms", _milliseconds(settings.keepalive) // 2),
    ]


def _common_options(settings: RpcSettings) -> Options:
    return [
        ("grpc.max_send_message_length", settings.max_message),
        ("grpc.max_receive_message_length", settings.max_message),
        ("grpc.keepalive_time_ms", _milliseconds(settings.keepalive)),
        ("grpc.keepalive_timeout_ms", _milliseconds(settings.keepalive_timeout)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


LONGEST_TEXT = 1000  # characters: a failure travels in the metadata, where 8 KiB is the limit
MILLISECOND = timedelta(milliseconds=1)
TOO_MANY = "Concurrent RPC limit"  # in the message of a busy server: its status is the same as for a large message


def to_failure(error: Exception) -> Failure:
    if not isinstance(error, errors.TouchlineError):
        return to_failure(errors.Defect("the service failed", why="the reason is in its log"))
    return Failure(
        code=error.code,
        what=error.what[:LONGEST_TEXT],
        why=error.why[:LONGEST_TEXT],
        hint=error.hint[:LONGEST_TEXT],
        field=error.field[:LONGEST_TEXT] if isinstance(error, errors.InvalidInput) else "",
        retry_after_ms=_retry_after_ms(error),
    )


def to_status(error: Exception) -> grpc.StatusCode:
    known = error if isinstance(error, errors.TouchlineError) else errors.Defect("")
    return grpc.StatusCode[surface(known).grpc]


def to_error(failure: Failure) -> errors.TouchlineError:
    kind = next((kind for kind in errors.error_classes() if kind.code == failure.code), None)
    if kind is None:
        return errors.Defect(failure.what, why=f"{failure.code}: {failure.why}", hint=failure.hint)
    more: dict[str, Any] = {}
    if issubclass(kind, errors.InvalidInput):
        more["field"] = failure.field
    if issubclass(kind, errors.RateLimited | errors.Warming) and failure.HasField("retry_after_ms"):
        more["retry_after"] = failure.retry_after_ms * MILLISECOND
    return kind(failure.what, why=failure.why, hint=failure.hint, **more)


def transport_error(code: grpc.StatusCode, details: str | None, method: str) -> errors.TouchlineError:
    """The error of a call that failed outside of the service: in the network, the client or the server."""
    why = f"{method}: {details or code.name.lower()}"
    match code:
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return errors.DeadlineExceeded("the service did not answer in time", why=why)
        case grpc.StatusCode.UNAUTHENTICATED:
            hint = "Give every process the same `cluster_secret`, and set the clocks of their machines."
            return errors.Misconfigured("the service refuses this process", why=why, hint=hint)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if TOO_MANY not in why:
            return errors.LimitExceeded("the message is too large", why=why)
        case grpc.StatusCode.UNIMPLEMENTED:
            return errors.Defect("the service does not have this method", why=why, hint="Run one version everywhere.")
        case _:
            return errors.Unavailable("the service cannot be reached", why=why)


def _retry_after_ms(error: errors.TouchlineError) -> int | None:
    if isinstance(error, errors.RateLimited | errors.Warming) and error.retry_after is not None:
        return error.retry_after // MILLISECOND
    return None
