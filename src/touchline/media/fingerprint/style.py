"""The styles of fingerprints. Apart from them, because settings name one and need no numpy."""

from __future__ import annotations

from enum import StrEnum


class Style(StrEnum):
    """How hashes are made of pictures. Only fingerprints of one style can be compared."""

    DENSE = "dense"  # of the whole picture, as others make them too
    CAREFUL = "careful"  # of what moves in the picture inside of black borders, with a second hash, to be sure
