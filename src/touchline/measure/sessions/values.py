"""Values as strangers write them: texts, addresses, quantities. What is not one is None, never an error.

Invariant: what comes back holds no blank text and no number that a fact could not hold.
"""

from __future__ import annotations

LARGEST = 1e9  # no rate of pictures and no jitter in milliseconds that is meant is larger


def text(value: object) -> str | None:
    """A text trimmed, or a whole number in decimal; a blank one is missing."""
    if type(value) is str:
        return value.strip() or None
    if type(value) is int:
        return str(value)
    return None


def lowered(value: object) -> str:
    return (text(value) or "").lower()


def url(value: object) -> str:
    """In the form in which two URLs are compared: case and slashes at the end do not matter."""
    return lowered(value).rstrip("/")


def quantity(value: object) -> float | None:
    if type(value) not in (int, float):
        return None
    amount: float = value  # type: ignore[assignment]
    return float(amount) if 0 <= amount <= LARGEST else None
