"""Values that no honest client sends, and requests that carry one of them in one place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_from_bytes

from .leaves import Leaf, built
from .matrix import Ids

DIGITS = "9" * 5000
# As JSON writes them; some are no JSON at all, but Python's reader takes them.
WILD: Mapping[str, str] = {
    "a huge number": "1e300",
    "a huge negative number": "-1e300",
    "infinity": "1e999",
    "not a number": "NaN",
    "five thousand digits": DIGITS,
    "more than 63 bits": str(2**63),
    "a little more than 53 bits": str(2**53 + 1),
    "half a character": '"\\ud800"',
    "a zero character": '"a\\u0000b"',
    "digits as text": f'"{DIGITS}"',
    "a huge number as text": '"1e300"',
    "nothing at all": '""',
    "a long text": f'"{"x" * 50_000}"',
    "a list": "[[[]]]",
    "an object": '{"a": {"b": 1}}',
}
# As GraphQL writes them.
LITERALS: Mapping[str, str] = {name: WILD[name] for name in WILD if name not in {"not a number", "an object"}} | {
    "an object": "{a: {b: 1}}"
}
# As they stand in an address or a header.
TEXTS: Mapping[str, bytes] = {
    "a huge number": b"1e300",
    "infinity": b"1e999",
    "not a number": b"NaN",
    "five thousand digits": DIGITS.encode(),
    "more than 63 bits": str(2**63).encode(),
    "half a character": "\ud800".encode("utf-8", "surrogatepass"),
    "a zero character": b"a\0b",
    "no text": b"\xff\xfe",
    "an early day": b"0000-00-00",
    "a day without an end": b"99999-12-31T99:99:99Z",
}
_PLACE = "<the wild value>"


@dataclass(frozen=True, slots=True)
class Wild:
    """One place for a wild value, and what is sent beside it."""

    name: str
    place: tuple[str, ...]
    _given: dict[str, Any]

    def body(self, token: str) -> str:
        """As JSON, with the token in its place."""
        return json.dumps(self._given).replace(json.dumps(_PLACE), token)

    @property
    def given(self) -> dict[str, Any]:
        return self._given


def wild_places(name: str, leaves: Sequence[Leaf], ids: Ids) -> Iterator[Wild]:
    """Each leaf in turn, with all that is needed beside it."""
    always = [leaf for leaf in leaves if leaf.required and leaf.optional_within is None]
    for leaf in leaves:
        beside = [one for one in leaves if one.required and one.optional_within == leaf.optional_within]
        chosen = {one.path: one for one in (*always, *beside, leaf)}
        given = built(list(chosen.values()), ids)
        inner = given
        for step in leaf.path[:-1]:
            inner = inner[step]
        inner[leaf.path[-1]] = [_PLACE] if leaf.listed else _PLACE
        yield Wild(f"{name}({'.'.join(leaf.path)})", leaf.path, given)


def escaped(text: bytes) -> str:
    return quote_from_bytes(text, safe="")
