"""What a delivered record becomes. Pure.

Invariant: the greatest event time of a tenant is the clock by which its sessions end. So no event counts that is dated
later than the clock of whoever received it allows: one wrong clock would end the sessions of everybody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from touchline.measure.sessions.reading import Accepted, Ignored, Quarantined, read_text

from .model import Counted, Counters, Delivered, Verdict

IN_THE_FUTURE = "in_the_future"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def delivered(ordinal: int, body: bytes, latest_ts: int | None = None) -> Delivered:
    """None: any time is believed."""
    match read_text(body):
        case Accepted(ts=ts, type=name) if latest_ts is not None and ts > latest_ts:
            detail = f"dated {_moment(ts)}; at most {_moment(latest_ts)} was believed when it came"
            return Delivered(ordinal, body, Verdict.QUARANTINED, reason=IN_THE_FUTURE, detail=detail, type=name)
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
        case Quarantined(reason=reason, detail=detail):
            return Delivered(ordinal, body, Verdict.QUARANTINED, reason=reason, detail=detail)


def deliver_all(bodies: Sequence[bytes], latest_ts: int | None = None) -> list[Delivered]:
    return [delivered(ordinal, body, latest_ts) for ordinal, body in enumerate(bodies)]


def latest_believed(received_at: datetime, ahead: timedelta) -> int:
    """The latest time, in epoch milliseconds, of an event that came at this moment."""
    return (received_at + ahead - EPOCH) // timedelta(milliseconds=1)


def _moment(ts: int) -> str:
    return (EPOCH + timedelta(milliseconds=ts)).isoformat(timespec="seconds")


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
