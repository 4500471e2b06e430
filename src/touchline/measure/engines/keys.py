"""A number of 64 bits for a uid. Equal uids have equal numbers; of different ones that share a number, texts decide.

Invariant: the number depends on the uid's bytes alone, not on the width of the column it stands in, nor on the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_WORDS = 8
WIDTH = 8 * _WORDS


def _odd_numbers(count: int) -> NDArray[np.uint64]:
    drawn = blake2b(b"touchline uid", digest_size=8 * count).digest()
    return np.frombuffer(drawn, "<u8") | np.uint64(1)


_FACTORS = _odd_numbers(_WORDS)
_LAST = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def keys_of(uids: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """Of a column at most `WIDTH` wide. A word of zeros adds nothing, so that padding does not matter."""
    width = -(-uids.dtype.itemsize // 8) * 8
    words = np.ascontiguousarray(uids.astype(f"S{width}")).view("<u8").reshape(len(uids), width // 8)
    total = np.zeros(len(uids), np.uint64)
    for place in range(words.shape[1]):
        word = words[:, place]
        mixed = (word ^ (word >> _SHIFT)) * _FACTORS[place]
        total += mixed ^ (mixed >> _SHIFT)
    total *= _LAST
    return total ^ (total >> _SHIFT)


def keys_of_texts(uids: Sequence[str]) -> NDArray[np.uint64]:
    return keys_of(np.array([_short(uid) for uid in uids], f"S{WIDTH}"))


def _short(uid: str) -> bytes:
    """A column ends a text at its zeros: such a uid, like one that is too long, is known by its digest."""
    content = uid.encode("utf-8", "surrogatepass")
    if len(content) <= WIDTH and b"\0" not in content:
        return content
    return blake2b(content, digest_size=32).hexdigest().encode()
