"""As much of the snapshots as some sessions need: the rest would change nothing.

Invariant: concluding with it gives the rows that all snapshots give. Who is who needs every combination that was ever
listed, once; models and GPUs need the rows near the starts of segments; the version needs a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchline.measure.sessions.model import Capability, Evidence, SessionFacts
from touchline.measure.sessions.rules import Directory, Rules, conclude
from touchline.measure.supporting.store import SupportingStore

from .rules import spans

Sets = tuple[frozenset[str], frozenset[str]]  # addresses, and URLs of sights without one


class PartialDirectory(Directory):
    """Has rows of some snapshots, and knows how many there are."""

    counts: dict[Sets, int]

    def snapshots(self, addresses: frozenset[str], urls: frozenset[str]) -> int:
        return self.counts.get((addresses, urls), 0)


async def concluded(store: SupportingStore, evidence: Sequence[Evidence], rules: Rules) -> list[SessionFacts]:
    sets = sorted({_sets(one) for one in evidence}, key=lambda pair: tuple(map(sorted, pair)))
    addresses = sorted(frozenset[str]().union(*(pair[0] for pair in sets)))
    urls = sorted(frozenset[str]().union(*(pair[1] for pair in sets)) - {""})
    known = await store.known(addresses, urls) if addresses or urls else []
    if not known:
        return _conclude_all(evidence, _directory(known, {}), rules)
    starts = (
        segment.segment_start_ts
        for facts in _conclude_all(evidence, _directory(known, {}), rules)
        for segment in facts.segments
    )
    near = await store.near(addresses, urls, spans(starts, rules.window_ms))
    listed = await store.listed([sorted(pair[0]) for pair in sets], [sorted(pair[1] - {""}) for pair in sets])
    counts = {pair: listed.get(at, 0) for at, pair in enumerate(sets)}
    return _conclude_all(evidence, _directory([*known, *near], counts), rules)


def _sets(evidence: Evidence) -> Sets:
    """As concluding asks for them."""
    addresses = frozenset(sight.address for sight in evidence.sights) - {""}
    return addresses, frozenset(sight.url for sight in evidence.sights if not sight.address)


def _directory(rows: Iterable[Capability], counts: dict[Sets, int]) -> Directory:
    directory = PartialDirectory.of(rows)
    assert isinstance(directory, PartialDirectory)  # noqa: S101  `of` makes one of its own class
    directory.counts = counts
    return directory


def _conclude_all(evidence: Iterable[Evidence], directory: Directory, rules: Rules) -> list[SessionFacts]:
    """Whether a session is final is told by the reader's clock, not by the row."""
    return [conclude(one, directory, rules, 0) for one in evidence]
