"""One pass of the watch over the queue: sample, judge, announce, tell the webhook.

Invariant: an alert and its event are one transaction; the webhook is called outside of any, and hears of each change at
least once or after ten tries not at all, which is logged.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

import httpx

from touchline.contracts.events.videos import JobAlert
from touchline.kernel import Clock
from touchline.kernel.clock import epoch_ms
from touchline.platform.postgres.database import Database
from touchline.process.queue import metrics

from . import rules
from .model import Alert
from .settings import AlertSettings
from .store import AlertStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watch:
    database: Database
    settings: AlertSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """For the periodic work; there is never more waiting."""
        await self._judge()
        if self.settings.webhook_url:
            await self._tell()
        return False

    async def _judge(self) -> None:
        async with self.database.system("watch the job queue") as transaction:
            store = AlertStore(transaction.connection)
            await store.sample()
            known = {(alert.tenant_id, alert.kind, alert.job_type): alert for alert in await store.raised()}
            findings = [found for each in await store.measure() for found in rules.judge(each, self.settings)]
            for finding in [*rules.changes(findings, known), *rules.gone(findings, known)]:
                alert = await store.record(finding)
                event = JobAlert(
                    kind=alert.kind,
                    job_type=alert.job_type,
                    raised=alert.raised,
                    value=alert.value,
                    threshold=alert.threshold,
                )
                transaction.announce(event, revision=alert.revision, tenant_id=alert.tenant_id)
                logger.warning("job alert", extra=_labels(alert))
            raised = await store.raised()
        metrics.ALERTS.clear()
        for alert in raised:
            metrics.ALERTS.labels(alert.kind, alert.job_type).inc()

    async def _tell(self) -> None:
        async with self.database.system("find alerts that the webhook has not heard of") as transaction:
            untold = await AlertStore(transaction.connection).untold(rules.MOST_TRIES)
        if not untold:
            return
        timeout = self.settings.webhook_timeout.total_seconds()
        async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
            for alert in untold:
                heard = await self._call(client, alert)
                async with self.database.system("record what the webhook has heard") as transaction:
                    await AlertStore(transaction.connection).told(alert, heard=heard)

    async def _call(self, client: httpx.AsyncClient, alert: Alert) -> bool:
        body = json.dumps(_labels(alert) | {"changed_at": alert.changed_at.isoformat()}).encode()
        headers = {"Content-Type": "application/json"}
        if secret := self.settings.webhook_secret.get_secret_value():
            now = epoch_ms(self.clock.now()) // 1000
            headers["X-Touchline-Timestamp"] = str(now)
            headers["X-Touchline-Signature"] = rules.signature(secret, now, body)
        try:
            answer = await client.post(self.settings.webhook_url, content=body, headers=headers)
        except httpx.HTTPError as error:
            logger.warning(
                "the webhook did not answer", extra={"reason": type(error).__name__, "tries": alert.tries + 1}
            )
            return False
        if not answer.is_success:
            logger.warning("the webhook refused", extra={"status_code": answer.status_code, "tries": alert.tries + 1})
        return answer.is_success


def _labels(alert: Alert) -> dict[str, object]:
    return {
        "tenant_id": str(alert.tenant_id),
        "kind": alert.kind,
        "job_type": alert.job_type,
        "raised": alert.raised,
        "value": alert.value,
        "threshold": alert.threshold,
        "revision": alert.revision,
    }
