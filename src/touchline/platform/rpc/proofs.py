"""How two processes prove to each other that they know the cluster secret.

Invariant: a proof covers the method, the nonce and every byte of the message; one kind of proof is never another kind.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from touchline.kernel.errors import Misconfigured

_PURPOSE = b"touchline.rpc.v1"
NO_BODY = b""  # a stream is proved as it begins


class Proofs:
    def __init__(self, cluster_secret: str) -> None:
        if not cluster_secret:
            raise Misconfigured("there is no cluster secret", hint="Set `cluster_secret`, the same for every process.")
        self._key = hmac.digest(cluster_secret.encode(), _PURPOSE, "sha256")

    def of_call(self, method: str, credentials: bytes, request: bytes) -> bytes:
        return self._sign(b"call", method.encode(), credentials, request)

    def of_answer(self, method: str, nonce: bytes, answer: bytes) -> bytes:
        return self._sign(b"answer", method.encode(), nonce, answer)

    def of_failure(self, method: str, nonce: bytes, failure: bytes) -> bytes:
        return self._sign(b"failure", method.encode(), nonce, failure)

    def _sign(self, *parts: bytes) -> bytes:
        """Each part by its hash, so that no byte can wander from one part to the next."""
        return hmac.digest(self._key, b"".join(sha256(part).digest() for part in parts), "sha256")


def is_same(proof: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(proof, expected)
