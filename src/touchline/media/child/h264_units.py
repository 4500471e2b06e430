"""The units that H.264 is made of, as far as cutting needs them: where decoding may begin, and the parameter sets.

Invariant: one id, one content. A stream that changes a parameter set half-way is not copied.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

IDR, EXTRA, SEQUENCE, PICTURE, DELIMITER = 5, 6, 7, 8, 9
SETS = (SEQUENCE, PICTURE)
MOST_IDS = 31  # as many as a header can list, ours included
SHORTEST = {SEQUENCE: 5, PICTURE: 2}
HIGH_PROFILES = (100, 110, 122, 144)
CHROMA_420_8_BIT = bytes([0xFD, 0xF8, 0xF8, 0])
CONFIGURATION = 1  # its first byte
ESCAPED, PLAIN = b"\0\0\3", b"\0\0"
HEAD = 32


class ChangedSets(Exception):
    """The same id stands for something else than before, or for nothing."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """How units are told apart: by their length in so many bytes, or by start codes."""

    length_bytes: int | None

    @classmethod
    def of(cls, extradata: bytes | None) -> Syntax:
        boxed = extradata and extradata[0] == CONFIGURATION and len(extradata) > 4
        return cls((extradata[4] & 3) + 1 if boxed and extradata else None)

    def split(self, data: bytes) -> list[bytes]:
        return [unit for unit in (self._sized(data) if self.length_bytes else _marked(data)) if unit]

    def _sized(self, data: bytes) -> Iterator[bytes]:
        position, width = 0, self.length_bytes or 4
        while position + width <= len(data):
            length = int.from_bytes(data[position : position + width])
            yield data[position + width : position + width + length]
            position += width + length


MARKED = Syntax(None)


def _marked(data: bytes) -> Iterator[bytes]:
    return (unit.rstrip(b"\0") for unit in data.split(b"\0\0\1")[1:])


def kind_of(unit: bytes) -> int:
    return unit[0] & 31


def is_idr(units: Iterable[bytes]) -> bool:
    return any(kind_of(unit) == IDR for unit in units)


def joined(units: Iterable[bytes]) -> bytes:
    """As MP4 keeps them: with their length in four bytes, without what stands in its header."""
    kept = (unit for unit in units if kind_of(unit) not in (*SETS, DELIMITER))
    return b"".join(struct.pack(">I", len(unit)) + unit for unit in kept)


class ParameterSets:
    def __init__(self) -> None:
        self._sets: dict[tuple[int, int], bytes] = {}

    def learn(self, units: Iterable[bytes]) -> None:
        for unit in units:
            if (kind := kind_of(unit)) in SETS:
                key = kind, _id_of(unit, 4 if kind == SEQUENCE else 1)
                if len(unit) < SHORTEST[kind] or self._sets.setdefault(key, unit) != unit:
                    raise ChangedSets

    def learn_header(self, extradata: bytes) -> None:
        self.learn(_configured(extradata) if extradata[:1] == bytes([CONFIGURATION]) else MARKED.split(extradata))

    @property
    def free_id(self) -> int | None:
        used = {number for _, number in self._sets}
        return next((number for number in range(MOST_IDS) if number not in used), None)

    @property
    def profile(self) -> int:
        return max((unit[1] for unit in self._of(SEQUENCE)), default=0)

    def configuration(self) -> bytes:
        """The box `avcC`: what decoders are set up with."""
        sequences, pictures = self._of(SEQUENCE), self._of(PICTURE)
        compatible = 0xFF
        for unit in sequences:
            compatible &= unit[2]
        level = max(unit[3] for unit in sequences)
        head = bytes([CONFIGURATION, self.profile, compatible, level, 0xFF, 0xE0 | len(sequences)])
        tail = CHROMA_420_8_BIT if self.profile in HIGH_PROFILES else b""
        return head + _listed(sequences) + bytes([len(pictures)]) + _listed(pictures) + tail

    def _of(self, wanted: int) -> list[bytes]:
        return [unit for (kind, _), unit in self._sets.items() if kind == wanted]


def _listed(units: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">H", len(unit)) + unit for unit in units)


def _configured(extradata: bytes) -> Iterator[bytes]:
    """The sets in an `avcC`: a list of sequences, then one of pictures."""
    position = 5
    for mask in (31, 255):
        for _ in range(extradata[position] & mask if position < len(extradata) else 0):
            length = int.from_bytes(extradata[position + 1 : position + 3])
            if unit := extradata[position + 3 : position + 3 + length]:  # one may have no length, or lie behind the end
                yield unit
            position += 2 + length
        position += 1


def _id_of(unit: bytes, skipped: int) -> int:
    """A number in Exp-Golomb code: as many bits behind the first one as there are zeros before it."""
    payload = unit[:HEAD].replace(ESCAPED, PLAIN)[skipped:]
    bits = "".join(f"{byte:08b}" for byte in payload)
    zeros = len(bits) - len(bits.lstrip("0"))
    return int(bits[zeros : 2 * zeros + 1] or "1", 2) - 1
