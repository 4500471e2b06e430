"""Browsers that somebody signed in from before. Their attempts are counted apart, so that strangers who guess at an
account cannot keep its owner out.

Invariant: a device token names one browser and one e-mail, and only we can make it. It opens nothing by itself.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .rules import email_subject

_DEVICE_BYTES, _SUBJECT_BYTES, _SIGNATURE_BYTES = 16, 32, 32
LONGEST = 200


class DeviceTokens:
    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=32, salt=None, info=b"touchline known devices")
        self._key = derive.derive(cluster_secret.encode())

    def issue(self, email: str) -> str:
        body = secrets.token_bytes(_DEVICE_BYTES) + email_subject(email)
        return _spelled(body + self._signature(body))

    def subject(self, token: str, email: str) -> bytes | None:
        """What attempts from this browser are counted by; None when it is not known for this e-mail."""
        if not token.isascii() or len(token) > LONGEST:
            return None
        try:
            raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        body, signature = raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
        is_whole = len(raw) == _DEVICE_BYTES + _SUBJECT_BYTES + _SIGNATURE_BYTES and _spelled(raw) == token
        if not is_whole or not hmac.compare_digest(signature, self._signature(body)):
            return None
        is_theirs = hmac.compare_digest(body[_DEVICE_BYTES:], email_subject(email))
        return hmac.digest(self._key, b"attempts:" + body, "sha256") if is_theirs else None

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, b"device:" + body, "sha256")


def _spelled(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
