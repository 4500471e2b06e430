"""What travels beside a request, and who is let in by it.

Invariant: who does not know the secret, comes too late or comes again learns only that it was refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from secrets import token_bytes

from google.protobuf.message import DecodeError

from touchline.contracts.rpc.v1.common_pb2 import Credentials
from touchline.kernel import Clock, Principal, epoch_ms
from touchline.kernel.errors import Unauthenticated
from touchline.kernel.trace import current_trace

from .model import to_caller
from .proofs import Proofs, is_same
from .replay import ReplayGuard

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


def value(metadata: Metadata | None, name: str) -> bytes:
    """Empty when there is none."""
    for key, found in metadata or ():
        if key == name and isinstance(found, bytes):
            return found
    return b""


class Gate:
    """The server's side: lets a call in once."""

    def __init__(self, proofs: Proofs, guard: ReplayGuard, clock: Clock) -> None:
        self._proofs = proofs
        self._guard = guard
        self._clock = clock

    def admit(self, method: str, metadata: Metadata | None, request: bytes) -> Credentials:
        signed = value(metadata, CREDENTIALS)
        if not is_same(value(metadata, PROOF), self._proofs.of_call(method, signed, request)):
            raise Unauthenticated("the caller does not know the cluster secret")
        try:
            credentials = Credentials.FromString(signed)
        except DecodeError as error:
            raise Unauthenticated("the caller speaks another language") from error
        if len(credentials.nonce) != NONCE_BYTES:
            raise Unauthenticated("the caller speaks another language")
        if not self._guard.admit(credentials.nonce, credentials.time_ms, epoch_ms(self._clock.now())):
            raise Unauthenticated("the call is too old, from the future, or came before")
        return credentials
