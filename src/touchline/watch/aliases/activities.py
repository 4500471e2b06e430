"""The activities of the words for teams."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from temporalio import activity

from touchline.watch.context import WatchContext
from touchline.watch.temporal import as_temporal_errors

from .rules import CachedAliases
from .service import AliasMaker
from .store import AliasStore
from .workflow import RAGInput

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AliasActivities:
    context: WatchContext
    maker: AliasMaker

    @activity.defn(name="get_cached_team_aliases")
    async def get_cached_team_aliases(self, team_id: int) -> CachedAliases:
        """What the table has, unless it is over its time."""
        with as_temporal_errors():
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                return await AliasStore(transaction.connection).cached(team_id, self.context.clock.now())

    @activity.defn(name="get_team_aliases")
    async def get_team_aliases(self, asked: RAGInput) -> list[str]:
        """Makes the words and keeps them. Making them again gives the same ones, or better."""
        with as_temporal_errors():
            made = await self.maker.make(asked)
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                store = AliasStore(transaction.connection)
                await store.keep(made)
                kept = await store.cached(asked.team_id, made.made_at)
        words = kept.words or list(made.words)
        extra_fields = {"team": asked.team_name, "team_id": asked.team_id, "words": words, "source": made.source}
        logger.info("[RAG] Words for a team", extra=extra_fields)
        return words
