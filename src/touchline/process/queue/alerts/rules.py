"""When something is beyond its threshold, and how a message is signed. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping

from touchline.kernel import TenantId

from .model import Alert, Finding, Kind, Measured
from .settings import AlertSettings

MOST_TRIES = 10

Open = Mapping[tuple[TenantId, str, str], Alert]


def judge(measured: Measured, settings: AlertSettings) -> list[Finding]:
    ended = measured.done + measured.failed
    rate = measured.failed / ended if ended >= settings.failure_minimum else 0.0
    values = {
        Kind.FAILURE_RATE: (rate, settings.failure_rate),
        Kind.QUEUE_AGE: (measured.oldest_s, settings.queue_age.total_seconds()),
        Kind.DEAD_LETTERS: (float(measured.dead), float(settings.dead_letters)),
    }
    return [Finding(measured.tenant_id, measured.job_type, kind, *pair) for kind, pair in values.items()]


def changes(findings: Iterable[Finding], known: Open) -> list[Finding]:
    """What was raised or cleared since: an alert is told when it begins and when it ends, not every minute."""
    found: list[Finding] = []
    for finding in findings:
        before = known.get((finding.tenant_id, finding.kind, finding.job_type))
        if finding.raised != (before is not None and before.raised):
            found.append(finding)
    return found


def gone(findings: Iterable[Finding], known: Open) -> list[Finding]:
    """Raised alerts of which nothing is measured any more: there is nothing left to complain about."""
    seen = {(finding.tenant_id, finding.kind, finding.job_type) for finding in findings}
    return [
        Finding(alert.tenant_id, alert.job_type, Kind(alert.kind), 0.0, alert.threshold)
        for key, alert in known.items()
        if alert.raised and key not in seen
    ]


def signature(secret: str, timestamp: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
