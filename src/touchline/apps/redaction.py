"""Keeps secrets out of what people read: logs, errors, printed settings. It loads nothing: each command begins with it.

Invariant: a registered value, a bearer token, a signed media path or a password in a URL never passes.
"""

from __future__ import annotations

import re

MASK = "********"
SHORTEST_SECRET = 6  # shorter values would mask parts of ordinary words

_PATTERNS = (
    re.compile(r"(\btl[klsv]?_)[\w-]{16,}"),  # tokens, stream keys, sign-in and share links, and sessions of our own
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]+"),
    re.compile(r"(/media/)[\w.~%=-]{16,}"),  # shorter ones are folders of that name
    re.compile(r"(://[^\s/:@]*:)[^\s/]+(?=@)"),
    re.compile(r"(?i)(\b(?:x-amz-signature|x-amz-credential|x-amz-security-token|token|password|secret)=)[^&\s\"']+"),
)


class Redactor:
    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()

    def register(self, *values: str) -> None:
        """Hide these values from now on. Longer ones first: a secret may be part of another."""
        secrets = {*self._values, *(value for value in values if len(value) >= SHORTEST_SECRET)}
        self._values = tuple(sorted(secrets, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MASK)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\g<1>{MASK}", text)
        return text


redact = Redactor()
