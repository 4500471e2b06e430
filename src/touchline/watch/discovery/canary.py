"""Looks every hour whether the search works, before a goal needs it: a login that expires does so in silence.

Invariant: a failed look is a fact that is kept and shown, not a failed pass; the next one comes at its time.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Unavailable
from touchline.platform.periodic.runner import PeriodicTask
from touchline.watch.ground import Ground

from .client import SearchClient
from .messages import SearchOrder
from .metrics import CHECKED, WORKS
from .settings import DiscoverySettings
from .store import Check, CheckStore

logger = logging.getLogger(__name__)

NAME = "watch.search_canary"


@dataclass(frozen=True, slots=True)
class Canary:
    ground: Ground
    client: SearchClient
    settings: DiscoverySettings

    @property
    def task(self) -> PeriodicTask:
        return PeriodicTask(NAME, self.settings.canary_interval, self.run_pass)

    async def run_pass(self) -> bool:
        """For the periodic work; there is never more waiting."""
        check = await self._look()
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            await CheckStore(transaction.connection).keep(check)
        WORKS.set(check.works)
        CHECKED.set(check.checked_at.timestamp())
        return False

    async def _look(self) -> Check:
        loop, now = asyncio.get_running_loop(), self.ground.clock.now()
        began, found, failure = loop.time(), 0, None
        order = SearchOrder(self.settings.canary_query, [], self.settings.canary_age_minutes)
        try:
            found = len(await self.client.find(order))
            self._require_enough(found)
        except TouchlineError as error:
            failure = f"{error} {error.hint}"
            logger.warning("[TWITTER] The search does not work", extra={"reason": str(error), "next": error.hint})
        return Check(now, found, round((loop.time() - began) * 1000), failure)

    def _require_enough(self, found: int) -> None:
        """The network shows empty pages to accounts that it restricts, and new pages to readers of old ones."""
        if found < self.settings.canary_least:
            minutes, least = self.settings.canary_age_minutes, self.settings.canary_least
            why = f"`{self.settings.canary_query}` found {found} videos of the last {minutes} minutes, not {least}"
            hint = "Search for it in your own browser: if it finds videos there, the account is restricted."
            raise Unavailable("the search answers but finds nothing", why=why, hint=hint)
