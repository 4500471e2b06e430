"""The fixed keys of a video: small objects that lead to the attempt that won.

Invariant: written after the commit that chose the attempt, by whoever comes first; writing them again does no harm.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from touchline.kernel import TenantId
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.process.videos.model import Pointers
from touchline.process.videos.store import VideoStore

from . import rules

LARGEST_PLAYLIST = 16 * 1024**2
LARGEST_POSTER = 32 * 1024**2
LEFT_BEHIND = timedelta(minutes=1)  # until then the worker itself is at it
MOST_PER_PASS = 100

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PointerWriter:
    database: Database
    objects: ObjectStore

    async def write(self, tenant_id: TenantId, video_id: UUID) -> None:
        """Until they show what the table says: a newer attempt may win in between."""
        while pointers := await self._unwritten(tenant_id, video_id):
            await self._write_objects(pointers)
            async with self.database.transaction(tenant_id) as transaction:
                await VideoStore(transaction.connection).pointers_written(pointers)

    async def run_pass(self) -> bool:
        """Writes what workers that died have left; answers whether more is waiting."""
        async with self.database.system("find fixed keys that nobody wrote") as transaction:
            found = await VideoStore(transaction.connection).unwritten_pointers(LEFT_BEHIND, MOST_PER_PASS)
        failed = 0
        for pointers in found:
            try:
                await self.write(pointers.tenant_id, pointers.video_id)
            except Exception:
                failed += 1
                logger.exception("fixed keys not written", extra={"video_id": str(pointers.video_id)})
        return len(found) == MOST_PER_PASS and not failed

    async def _unwritten(self, tenant_id: TenantId, video_id: UUID) -> Pointers | None:
        async with self.database.transaction(tenant_id) as transaction:
            return await VideoStore(transaction.connection).pointers(video_id)

    async def _write_objects(self, pointers: Pointers) -> None:
        attempt = pointers.s3_proxy_path.split("/")[-2]
        playlist = await self.objects.get(pointers.s3_proxy_path, at_most=LARGEST_PLAYLIST)
        poster = await self.objects.get(pointers.s3_thumb_path, at_most=LARGEST_POSTER)
        video_id = pointers.video_id
        await self.objects.replace(rules.fixed_poster_key(video_id), poster, content_type=rules.POSTER_TYPE)
        await self.objects.replace(
            rules.fixed_manifest_key(video_id),
            rules.pointing_playlist(playlist.decode(), attempt).encode(),
            content_type=rules.PLAYLIST_TYPE,
        )
