"""Whether two stored fingerprints show the same.

A stored text has one fingerprint a line: the dense one, by the rule that others use too, and perhaps the careful one,
which tells two goals apart that one camera shows alike. Where both videos have a careful one that says something, it
decides; else the dense ones do.
"""

from __future__ import annotations

from functools import lru_cache

from touchline.media.fingerprint.errors import InvalidFingerprint
from touchline.media.fingerprint.formats import from_text
from touchline.media.fingerprint.matching import compare
from touchline.media.fingerprint.model import LEAST_RUN, Fingerprint, Style

KEPT_IN_MEMORY = 1024  # read fingerprints, of about 4 kB each


def alike(first: str, second: str) -> bool:
    return _alike(*sorted((first, second)))


def checked(text: str) -> str:
    """The text, if it can be compared with any other."""
    if Style.DENSE not in _read(text):
        raise InvalidFingerprint("this fingerprint cannot be compared with others", why="it has no dense one")
    return text


@lru_cache(maxsize=4 * KEPT_IN_MEMORY)
def _alike(first: str, second: str) -> bool:
    """Kept: what was compared to plan a batch is compared again when it is written."""
    one, other = _read(first), _read(second)
    style = Style.CAREFUL if _is_telling(one) and _is_telling(other) else Style.DENSE
    return compare(one[style], other[style]).match


def _is_telling(read: dict[Style, Fingerprint]) -> bool:
    return Style.CAREFUL in read and read[Style.CAREFUL].informative >= LEAST_RUN


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _read(text: str) -> dict[Style, Fingerprint]:
    return {each.style: each for each in map(from_text, text.splitlines())}
