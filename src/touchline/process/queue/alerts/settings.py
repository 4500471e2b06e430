"""When the queue raises an alert, and who hears of it."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section


class AlertSettings(Section):
    failure_rate: float = Field(default=0.25, ge=0, le=1)
    """The share of jobs that failed for good in the last hour, above which an alert is raised."""

    failure_minimum: int = Field(default=10, ge=1)
    """How many jobs must have ended in the last hour before their failure rate says anything."""

    queue_age: Duration = timedelta(minutes=30)
    """How long the oldest job that is due may wait before an alert is raised."""

    dead_letters: int = Field(default=100, ge=0)
    """How many jobs may have failed for good within a week before an alert is raised."""

    webhook_url: str = ""
    """Where alerts are sent as JSON by POST; nowhere without it."""

    webhook_secret: SecretStr = SecretStr("")
    """Signs what is sent: X-Touchline-Signature is the HMAC-SHA256 of X-Touchline-Timestamp, a dot and the body."""

    webhook_timeout: Duration = timedelta(seconds=10)
    """How long one call may take. A call that fails is made again with the next passes, ten times in all."""
