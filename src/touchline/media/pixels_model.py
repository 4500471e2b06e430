"""What decoding picture files is asked for, and what it says. Shared with the child: it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    """A file with plain pixels: rows from the top, three bytes each: blue, green, red."""

    name: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a child says about the pictures that it decoded, in their order."""

    pictures: tuple[DecodedPicture, ...]
