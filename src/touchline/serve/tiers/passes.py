"""What has to be done from time to time: full nodes give up copies, deleted artifacts leave the nodes, and commands
that nobody answered end.

Invariant: each pass is bounded, begins where the one before ended, and may run on two machines at once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from prometheus_client import Counter, Gauge

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import ArtifactHash, Conflict, NotFound, TouchlineError
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import WITHOUT_TENANT, ServeContext
from touchline.serve.nodes.rules import CommandOutcome, Node, Result, is_usable
from touchline.serve.nodes.store import NodeStore, forget_ended, open_of_node, overdue

from .reports import HELD, NodeReports
from .rules import Copy, CopyState, Watermarks, needs_object, victims
from .service import MOST_NODES, give_up, is_stored, settle
from .store import CopyStore, copies_of_node, deletion, orphans

EVICTIONS = Counter("touchline_evictions", "Copies that full nodes were told to delete.")
ORPHANS = Counter("touchline_orphan_copies", "Copies of deleted or replaced artifacts that nodes were told to delete.")
KEPT = Gauge("touchline_unsafe_copies", "Copies that a pass kept because the object store lacks them.", ["task"])
EXPIRED = ("deadline_exceeded", "the node did not answer in time")
START = ("", "")
ORPHANS_TASK = "clean up orphan copies"
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TierPasses:
    context: ServeContext
    reports: NodeReports
    _reached: tuple[str, str] = field(default=START)

    async def evict(self) -> bool:
        """Full nodes down to where they have room again."""
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            nodes = await NodeStore(transaction.connection).all(MOST_NODES)
        kept = 0
        for node in filter(is_usable, nodes):
            kept += await self._evict(node)
        KEPT.labels("evict").set(kept)
        return False

    async def _evict(self, node: Node) -> int:
        """How many had to stay because the object store lacks them."""
        settings, marks = self.context.settings, self._marks()
        if not node.budget_bytes or node.used_bytes is None or node.used_bytes <= marks.upper * node.budget_bytes:
            return 0
        async with self.context.database.system("find copies to evict") as transaction:
            copies = await copies_of_node(transaction.connection, node.node_id)
        now, stored, unsafe = self.context.clock.now(), set[ArtifactHash](), set[ArtifactHash]()
        while True:  # what the store lacks stays, and something else goes in its place
            others = [copy for copy in copies if copy.artifact_hash not in unsafe]
            chosen = victims(others, node.used_bytes, node.budget_bytes, marks, now)[: settings.most_per_pass]
            unseen = [copy for copy in chosen if copy.artifact_hash not in stored]
            if not unseen or len(unsafe) >= settings.most_per_pass:
                break
            for copy in unseen:
                (stored if await is_stored(self.context.objects, copy) else unsafe).add(copy.artifact_hash)
        for copy in chosen:
            if copy.artifact_hash in stored:
                async with self.context.database.transaction(copy.tenant_id) as transaction:
                    await self._give_up_unpinned(transaction, copy)
        return len(unsafe)

    async def _give_up_unpinned(self, transaction: Transaction, copy: Copy) -> None:
        artifact = await ArtifactStore(transaction).find_locked(copy.artifact_hash)
        now = next((one for one in await CopyStore(transaction).of(copy.artifact_hash) if is_same(one, copy)), None)
        if artifact is None or artifact.transfer or now is None or now.pinned or not now.synced:
            return
        if await give_up(transaction, self.context, now, also_in_use=False):
            EVICTIONS.inc()

    async def clean_up_orphans(self) -> bool:
        """True when there are more behind those of this pass."""
        most = self.context.settings.most_per_pass
        async with self.context.database.system("find copies of deleted artifacts") as transaction:
            found = await orphans(transaction.connection, self._reached, most)
        kept = 0
        for copy in found:
            kept += not await self._clean_up(copy)
        KEPT.labels("orphans").set(kept)
        self._reached = (found[-1].node_id, found[-1].artifact_hash) if len(found) == most else START
        return len(found) == most

    async def _clean_up(self, copy: Copy) -> bool:
        stored = await self._is_stored(copy)
        now, purge_after = self.context.clock.now(), self.context.settings.purge_after
        async with self.context.database.transaction(copy.tenant_id) as transaction:
            deleted = await deletion(transaction, copy.artifact_hash)
            artifact = await ArtifactStore(transaction).find_locked(copy.artifact_hash)
            if artifact is None or (deleted is None and artifact.manifest_key == copy.manifest_key):
                return True  # it is back
            if (deleted is None or needs_object(deleted, purge_after, now)) and not stored:
                return False
            if await give_up(transaction, self.context, copy, also_in_use=True):
                ORPHANS.inc()
            await settle(transaction, artifact, artifact.transfer)
        return True

    async def _is_stored(self, copy: Copy) -> bool:
        """An artifact whose rendition was replaced is in the store by the new one."""
        if not copy.synced:
            return False
        async with self.context.database.transaction(copy.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find(copy.artifact_hash)
        if artifact is None or artifact.manifest_key is None:
            return False
        if artifact.status is not ArtifactStatus.DELETED and artifact.manifest_key != copy.manifest_key:
            return await self.context.objects.exists(artifact.manifest_key)
        return await is_stored(self.context.objects, copy)

    async def end_overdue(self) -> bool:
        """Commands past their deadline: what they were for is as if they had not been asked."""
        now, most = self.context.clock.now(), self.context.settings.most_per_pass
        async with self.context.database.system("find commands that are overdue") as transaction:
            found = await overdue(transaction.connection, now, most)
            await forget_ended(transaction.connection, now - self.context.settings.command_history, most)
        for command in found:
            try:
                await self.reports.end(command, CommandOutcome.EXPIRED, Result(code=EXPIRED[0], message=EXPIRED[1]))
            except TouchlineError:
                logger.exception("a command cannot be ended", extra={"command": str(command.id)})
        return len(found) == most

    async def forget(self, node_id: str, *, lose: bool = False) -> int:
        """A node that will not come back: its copies are gone. How many; `lose`: even what lies nowhere else."""
        await self._require_gone(node_id)
        async with self.context.database.system("find the copies of a node that is gone") as transaction:
            copies = await copies_of_node(transaction.connection, node_id)
            commands = await open_of_node(transaction.connection, node_id)
        only = [copy.artifact_hash for copy in copies if not copy.synced and copy.state in HELD]
        if only and not lose:
            why = f"{len(only)} artifacts are stored nowhere else, like {only[0]}"
            raise Conflict("this node has the last copies", why=why, hint="Start the node again, or add --lose.")
        for command in commands:
            reason = Result(code="not_found", message="the node was forgotten")
            await self.reports.end(command, CommandOutcome.FAILED, reason)
        for copy in copies:
            await self._gone(copy)
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            await NodeStore(transaction.connection).forget(node_id)
        return len(copies)

    async def _require_gone(self, node_id: str) -> None:
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            node = await NodeStore(transaction.connection).find(node_id)
        if node is None:
            raise NotFound("there is no such node", why=node_id, hint="`touchline nodes list` shows them.")
        if node.last_seen_at > self.context.clock.now() - self.context.settings.node_gone_after:
            raise Conflict("this node is connected", why=node_id, hint="Stop it first.")

    async def _gone(self, copy: Copy) -> None:
        async with self.context.database.transaction(copy.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(copy.artifact_hash)
            where, states = (copy.artifact_hash, copy.node_id), (*HELD, CopyState.DEFROSTING)
            if await CopyStore(transaction).turn(*where, CopyState.GONE, states, self.context.clock.now()) and artifact:
                await settle(transaction, artifact, artifact.transfer)

    def _marks(self) -> Watermarks:
        return Watermarks(self.context.settings.evict_above, self.context.settings.evict_until)


def is_same(one: Copy, other: Copy) -> bool:
    return (one.node_id, one.manifest_key, one.state) == (other.node_id, other.manifest_key, other.state)
