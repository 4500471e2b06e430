"""How much a key may ask: so many requests a day, so many a minute. The one thing that the feed remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Account:
    """Whoever pays for the feed."""

    key: str = "world"
    requests_a_day: int = 75_000
    requests_a_minute: int = 450


@dataclass(slots=True)
class Spent:
    """Counted by the wall's days and minutes, in UTC."""

    day: date = date.min
    today: int = 0
    minute: datetime | None = field(default=None)
    this_minute: int = 0

    def turn_to(self, now: datetime) -> None:
        minute = now.replace(second=0, microsecond=0)
        if now.date() != self.day:
            self.day, self.today = now.date(), 0
        if minute != self.minute:
            self.minute, self.this_minute = minute, 0

    def spend(self) -> None:
        self.today += 1
        self.this_minute += 1

    def headers(self, account: Account) -> dict[str, str]:
        return {
            "x-ratelimit-requests-limit": str(account.requests_a_day),
            "x-ratelimit-requests-remaining": str(max(account.requests_a_day - self.today, 0)),
            "X-RateLimit-Limit": str(account.requests_a_minute),
            "X-RateLimit-Remaining": str(max(account.requests_a_minute - self.this_minute, 0)),
        }
