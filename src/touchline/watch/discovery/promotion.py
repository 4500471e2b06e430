"""Whether a post is an advert, by its words. Pure.

Invariant: whole words only, and never the words of the goal's own names: Adeyemi is no ad, and nor is a player who is
called Ad.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchline.watch.words import tokens

# A line of its own that says no more than this is the network's label.
LABELS = frozenset(
    {"ad", "ads", "advert", "promoted", "sponsored", "anzeige", "publicidad", "sponsorise", "pubblicita"}
)


def promotion(text: str, phrases: Sequence[str], names: Iterable[str]) -> str | None:
    """What gave it away; None when it is an ordinary post."""
    own = {token for name in names for token in tokens(name)}
    lines = (tokens(line) for line in text.splitlines())
    label = next((line[0] for line in lines if len(line) == 1 and line[0] in LABELS - own), None)
    if label:
        return label
    words = tokens(text)
    for phrase in phrases:
        wanted = tokens(phrase)
        if wanted and not own.issuperset(wanted) and _occurs(wanted, words):
            return phrase
    return None


def _occurs(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))
