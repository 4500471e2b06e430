"""Cursors: where a list or a stream goes on, as text that only this installation can make.

Invariant: one place has one text, which tells nothing; a text that was changed, or that was made for another list or
another tenant, is refused.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from touchline.kernel import TenantId
from touchline.kernel.errors import InvalidInput

LONGEST_CURSOR = 512


class Cursors:
    def __init__(self, cluster_secret: str) -> None:
        derive = HKDF(hashes.SHA256(), length=64, salt=None, info=b"touchline cursors")
        self._cipher = AESSIV(derive.derive(cluster_secret.encode()))

    def of(self, tenant_id: TenantId, kind: str) -> Cursor:
        """The cursors of one list of one tenant."""
        return Cursor(self._cipher, (kind.encode(), tenant_id.bytes))


@dataclass(frozen=True, slots=True)
class Cursor:
    _cipher: AESSIV = field(repr=False)
    _bound: tuple[bytes, bytes] = field(repr=False)

    def seal(self, place: bytes) -> str:
        return _text(self._cipher.encrypt(place, list(self._bound)))

    def open(self, text: str, name: str) -> bytes:
        """The place; `name` is the argument that a wrong cursor is reported under."""
        try:
            return self._cipher.decrypt(_bytes(text), list(self._bound))
        except (InvalidTag, ValueError) as error:
            hint = "Use a cursor that this list returned, as it was."
            raise InvalidInput("not a valid cursor", field=name, why="this list did not make it", hint=hint) from error


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """One text for one cursor: what the decoder would forgive is refused."""
    if len(text) > LONGEST_CURSOR:
        raise ValueError("too long")
    sealed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    if _text(sealed) != text:
        raise ValueError("not canonical")
    return sealed
