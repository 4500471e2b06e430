"""What a delivered record becomes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from touchline.measure.sessions.parser import Accepted, Ignored, Quarantined, believed, read_text

from .model import Counted, Counters, Delivered, Verdict


def delivered(ordinal: int, body: bytes, latest_ts: int | None = None) -> Delivered:
    """None: any time is believed."""
    match believed(read_text(body), latest_ts):
        case Accepted() as accepted:
            session_id = accepted.session_id or ""
            return Delivered(
                ordinal,
                body,
                Verdict.ACCEPTED,
                type=accepted.type,
                uid=accepted.uid,
                session_id=session_id,
                event_ts=accepted.ts,
            )
        case Ignored(type=name):
            return Delivered(ordinal, body, Verdict.IGNORED, reason="unknown_type", type=name)
        case Quarantined(reason=reason, detail=detail, type=name):
            return Delivered(ordinal, body, Verdict.QUARANTINED, reason=reason, detail=detail, type=name)


def deliver_all(bodies: Sequence[bytes], latest_ts: int | None = None) -> list[Delivered]:
    return [delivered(ordinal, body, latest_ts) for ordinal, body in enumerate(bodies)]


def count(records: Iterable[Delivered]) -> Counted:
    """As if there were nothing else: a copy of an event that another delivery brought is not known here."""
    verdicts: Counter[Verdict] = Counter()
    reasons: Counter[str] = Counter()
    uids: set[str] = set()
    for record in records:
        verdicts[record.verdict] += 1
        if record.verdict is Verdict.ACCEPTED:
            uids.add(record.uid)
        elif record.verdict is Verdict.QUARANTINED:
            reasons[record.reason] += 1
    copies = verdicts[Verdict.ACCEPTED]
    return Counted(
        Counters(
            raw=verdicts.total(),
            accepted=len(uids),
            duplicate=copies - len(uids),
            ignored=verdicts[Verdict.IGNORED],
            quarantined=verdicts[Verdict.QUARANTINED],
        ),
        dict(sorted(reasons.items())),
    )
