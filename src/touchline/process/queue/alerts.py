"""Watches the queue: samples depth and age, raises and clears alerts, and posts them to a webhook.

Invariant: an alert and its event are one transaction. The webhook is called outside of any, and gets each change
at least once, or after ten attempts not at all, which is logged.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

import httpx
from prometheus_client import Gauge

from touchline.contracts.events.videos import JobAlert
from touchline.kernel import Clock, epoch_ms
from touchline.platform.postgres.database import Database
from touchline.process.settings import AlertSettings

from . import rules
from .store import AlertStore

ALERTS = Gauge("touchline_job_alerts", "Alerts that are raised now, in all tenants.", ["kind", "job_type"])

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueueMonitor:
    database: Database
    settings: AlertSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """For the periodic runner; there is never more to do."""
        await self._update_alerts()
        if self.settings.webhook_url:
            await self._deliver()
        return False

    async def _update_alerts(self) -> None:
        async with self.database.system("watch the job queue") as transaction:
            store = AlertStore(transaction.connection)
            await store.sample()
            known = {(alert.tenant_id, alert.kind, alert.job_type): alert for alert in await store.raised()}
            findings = [
                found for each in await store.measure() for found in rules.check_thresholds(each, self.settings)
            ]
            for finding in [*rules.changed_alerts(findings, known), *rules.alerts_without_jobs(findings, known)]:
                alert = await store.record(finding)
                event = JobAlert(
                    kind=alert.kind,
                    job_type=alert.job_type,
                    raised=alert.raised,
                    value=alert.value,
                    threshold=alert.threshold,
                )
                transaction.announce(event, revision=alert.revision, tenant_id=alert.tenant_id)
                logger.warning("job alert", extra=_alert_fields(alert))
            raised = await store.raised()
        ALERTS.clear()
        for alert in raised:
            ALERTS.labels(alert.kind, alert.job_type).inc()

    async def _deliver(self) -> None:
        async with self.database.system("find alerts that were not sent to the webhook") as transaction:
            undelivered = await AlertStore(transaction.connection).undelivered(rules.MAX_DELIVERY_ATTEMPTS)
        if not undelivered:
            return
        timeout = self.settings.webhook_timeout.total_seconds()
        async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
            for alert in undelivered:
                delivered = await self._post(client, alert)
                async with self.database.system("record which alerts were sent to the webhook") as transaction:
                    await AlertStore(transaction.connection).record_delivery(alert, delivered=delivered)

    async def _post(self, client: httpx.AsyncClient, alert: rules.Alert) -> bool:
        body = json.dumps(_alert_fields(alert) | {"changed_at": alert.changed_at.isoformat()}).encode()
        headers = {"Content-Type": "application/json"}
        if secret := self.settings.webhook_secret.get_secret_value():
            now = epoch_ms(self.clock.now()) // 1000
            headers["X-Touchline-Timestamp"] = str(now)
            headers["X-Touchline-Signature"] = rules.webhook_signature(secret, now, body)
        try:
            answer = await client.post(self.settings.webhook_url, content=body, headers=headers)
        except httpx.HTTPError as error:
            logger.warning(
                "the webhook did not respond", extra={"reason": type(error).__name__, "tries": alert.tries + 1}
            )
            return False
        if not answer.is_success:
            logger.warning(
                "the webhook rejected the alerts", extra={"status_code": answer.status_code, "tries": alert.tries + 1}
            )
        return answer.is_success


def _alert_fields(alert: rules.Alert) -> dict[str, object]:
    return {
        "tenant_id": str(alert.tenant_id),
        "kind": alert.kind,
        "job_type": alert.job_type,
        "raised": alert.raised,
        "value": alert.value,
        "threshold": alert.threshold,
        "revision": alert.revision,
    }
