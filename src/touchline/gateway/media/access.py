"""Who may still play what was signed: nobody of a suspended tenant, nobody by a share link that has ended.

Invariant: what a signed address allows ends a few seconds after the suspension or the revocation, in every gateway,
also for an answer that is under way; the event log is not needed for it. While whoever knows is away, what was known
last holds for as long as resolved places are remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from uuid import UUID

from touchline.contracts.playback import PlaybackClient
from touchline.kernel import Clock, TenantId, Unavailable
from touchline.serve.playback.suspension import LONGEST_TRUST, TRUST_FOR, FindSuspended, SuspendedTenants
from touchline.serve.playback.tokens import Grant, refused

MOST_LINKS = 10_000


class PlaybackAccess:
    def __init__(self, find_suspended: FindSuspended, playback: PlaybackClient, clock: Clock) -> None:
        self._suspended = SuspendedTenants(find_suspended, clock)
        self._links = ShareLinkStates(playback, clock)

    async def is_allowed(self, tenant_id: TenantId, share_link_id: UUID | None = None) -> bool:
        if await self._suspended.contains(tenant_id):
            return False
        return share_link_id is None or await self._links.is_valid(tenant_id, share_link_id)

    async def require(self, grant: Grant) -> None:
        """What is not allowed any more is refused as a token that was changed."""
        if not await self.is_allowed(grant.tenant_id, grant.share_link_id):
            raise refused()


class ShareLinkStates:
    """Of the links by which something was played lately."""

    def __init__(self, playback: PlaybackClient, clock: Clock) -> None:
        self._playback = playback
        self._clock = clock
        self._known: OrderedDict[UUID, tuple[bool, datetime]] = OrderedDict()

    async def is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        now = self._clock.now()
        valid, read_at = self._known.get(link_id, (False, None))
        if read_at is not None and now - read_at <= TRUST_FOR:
            return valid
        try:
            valid = await self._playback.share_link_is_valid(tenant_id, link_id)
        except Unavailable:
            if read_at is None or now - read_at > LONGEST_TRUST:
                raise
            return valid
        self._known[link_id] = (valid, now)
        self._known.move_to_end(link_id)
        if len(self._known) > MOST_LINKS:
            self._known.popitem(last=False)
        return valid
