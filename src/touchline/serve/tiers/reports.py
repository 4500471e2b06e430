"""What nodes report of their copies: what became of a command, a whole inventory, who watched what.

Invariants: only an open command has effects, and has them once, together with its end. What a freeze says it has
stored is looked at before the pointer turns. Only a whole, plausible inventory may say that a copy is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from prometheus_client import Counter

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import NotFound
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.clips.live import end_live_clip, live_clip_progressed
from touchline.serve.context import WITHOUT_TENANT, TierContext
from touchline.serve.dvr.service import not_begun
from touchline.serve.nodes.rules import (
    Command,
    CommandKind,
    CommandOutcome,
    CopyAccess,
    HeldCopy,
    NodeConnection,
    Result,
    require_plausible,
)
from touchline.serve.nodes.store import CommandStore, NodeStore, open_command

from .rules import Copy, CopyState, Differences, compare
from .service import TRANSFERS, give_up, settle, stored_rendition
from .store import CopyStore, accessed, copies_of_node, known, seen

LATE = Counter(
    "touchline_node_late_acknowledgements",
    "Acknowledgements that came after their command had ended, or after the artifact was deleted.",
)
LONGEST_REASON = 1000
HELD = (CopyState.PRESENT, CopyState.EVICTING)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeReports:
    context: TierContext

    async def acknowledged(self, node_id: str, command_id: UUID, result: Result) -> bool:
        """False when the command had ended before: then nothing is changed."""
        async with self.context.database.system("find the command that a node acknowledges") as transaction:
            command = await open_command(transaction.connection, node_id, command_id)
        if command is None:
            LATE.inc()
            return False
        if command.kind is CommandKind.FREEZE and result.code is None:
            result = await self._looked_at(result)
        elif command.kind is CommandKind.CLIP_PULL and result.code is None:
            result = await self._clip_looked_at(command, result)
        return await self.end(command, CommandOutcome.FAILED if result.code else CommandOutcome.DONE, result)

    async def progressed(self, node_id: str, command_id: UUID, percent: int) -> None:
        """For people; of a command that has ended nothing changes."""
        async with self.context.database.system("find the command that a node works on") as transaction:
            command = await open_command(transaction.connection, node_id, command_id)
        if command is None or command.kind is not CommandKind.CLIP_PULL:
            return
        async with self.context.database.transaction(command.tenant_id) as transaction:
            await live_clip_progressed(transaction, command, percent, self.context.clock.now())

    async def end(self, command: Command, outcome: CommandOutcome, result: Result) -> bool:
        """The command and what it was for, in one transaction."""
        now = self.context.clock.now()
        async with self.context.database.transaction(command.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(command.artifact_hash)
            reason = (result.code, (result.message or "")[:LONGEST_REASON]) if result.code else None
            if not await CommandStore(transaction).end(command, outcome, now, reason):
                LATE.inc()
                return False
            if artifact is not None:
                await self._apply(transaction, artifact, command, result)
        if outcome is CommandOutcome.DONE and _came_too_late(command, artifact):
            LATE.inc()
        if command.kind in (CommandKind.FREEZE, CommandKind.DEFROST):
            TRANSFERS.labels(command.kind, outcome).inc()
        if result.code:
            extra = {"node": command.node_id, "kind": command.kind, "reason": f"{result.code}: {result.message}"}
            logger.warning("a command to a node failed", extra=extra)
        return True

    async def _apply(self, transaction: Transaction, artifact: Artifact, command: Command, result: Result) -> None:
        match command.kind:
            case CommandKind.DEFROST:
                await self._defrosted(transaction, artifact, command, result)
                await settle(transaction, artifact, None)
            case CommandKind.FREEZE:
                await self._frozen(transaction, artifact, command, result)
                await settle(transaction, artifact, None)
            case CommandKind.DELETE:
                await self._deleted(transaction, command, result)
                await settle(transaction, artifact, artifact.transfer)
            case CommandKind.DVR_START:
                if result.code:
                    await not_begun(transaction, command, result.message or "")
            case CommandKind.CLIP_PULL:
                await end_live_clip(transaction, artifact, command, result, self.context.clock.now())
            case CommandKind.DVR_STOP:
                pass  # what becomes of it is told by the node's own reports, or by its silence

    async def _defrosted(self, transaction: Transaction, artifact: Artifact, command: Command, result: Result) -> None:
        store, now = CopyStore(transaction), self.context.clock.now()
        if result.copy is None:
            where = artifact.artifact_hash, command.node_id
            await store.turn(*where, CopyState.GONE, (CopyState.DEFROSTING,), now)
            return
        await store.hold(result.copy, command.node_id, now)
        if artifact.status is ArtifactStatus.DELETED or result.copy.manifest_key != artifact.manifest_key:
            await self._give_up_all(transaction, artifact, command.node_id)

    async def _frozen(self, transaction: Transaction, artifact: Artifact, command: Command, result: Result) -> None:
        """Its own copy is one of what lies in the store now."""
        if result.code or result.copy is None:
            return
        store, now = CopyStore(transaction), self.context.clock.now()
        await store.hold(result.copy, command.node_id, now, manifest_key=result.manifest_key)
        turned = await store.frozen(artifact.artifact_hash, result.manifest_key, result.poster_key or None)
        if turned is not None:
            transitions.announce(transaction, turned)
        if not command.payload["keep"] and artifact.status is not ArtifactStatus.DELETED:
            await self._give_up_all(transaction, artifact)

    async def _give_up_all(self, transaction: Transaction, artifact: Artifact, node_id: str = "") -> None:
        for copy in await CopyStore(transaction).of(artifact.artifact_hash):
            if not node_id or copy.node_id == node_id:
                await give_up(transaction, self.context, copy, also_in_use=True)

    async def _deleted(self, transaction: Transaction, command: Command, result: Result) -> None:
        """A node that refuses still has it: it may be asked again later."""
        to, leaving = (CopyState.PRESENT, HELD[1:]) if result.code else (CopyState.GONE, HELD)
        now = self.context.clock.now()
        await CopyStore(transaction).turn(command.artifact_hash, command.node_id, to, leaving, now)

    async def _looked_at(self, result: Result) -> Result:
        """As the object store lists it, not as the node says."""
        there = await stored_rendition(self.context.objects, result.manifest_key)
        if there and result.copy and there.holds(result.copy.segment_count, result.copy.segment_bytes):
            return result
        return replace(result, copy=None, code="conflict", message="the object store does not have what was frozen")

    async def _clip_looked_at(self, command: Command, result: Result) -> Result:
        try:
            size_bytes = (await self.context.objects.head(command.payload["original_key"])).size_bytes
        except NotFound:
            size_bytes = 0
        if size_bytes and size_bytes == result.object_bytes:
            return result
        return replace(result, cut=None, code="conflict", message="the object store does not have the clip")

    # --- Inventories.

    async def inventory(self, line: NodeConnection, held: Sequence[HeldCopy]) -> Differences:
        """Conflict: it is refused, and nothing is changed."""
        now = self.context.clock.now()
        async with self.context.database.system("compare the inventory of a node") as transaction:
            on_record = await copies_of_node(transaction.connection, line.node_id)
            require_plausible(len(held), sum(copy.state in HELD for copy in on_record))
            artifacts = await known(transaction.connection, held)
            await seen(transaction.connection, line.node_id, [copy.artifact_hash for copy in held], now)
        found = compare(on_record, held, artifacts)
        for copy in found.missing:
            await self.lost(copy)
        for copy in found.found:
            await self.held(line.node_id, copy, replaced=False)
        for copy in found.replaced:
            await self.held(line.node_id, copy, replaced=True)
        if found.unknown:
            extra = {"node": line.node_id, "copies": len(found.unknown)}
            logger.warning("a node has copies of unknown artifacts", extra=extra)
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            await NodeStore(transaction.connection).inventory(line, None, now)
        return found

    async def refused(self, line: NodeConnection, why: str) -> None:
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            store = NodeStore(transaction.connection)
            await store.inventory(line, why[:LONGEST_REASON], self.context.clock.now())

    async def lost(self, copy: Copy) -> None:
        """It is on record, and the node does not have it."""
        where, now = (copy.artifact_hash, copy.node_id), self.context.clock.now()
        async with self.context.database.transaction(copy.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(copy.artifact_hash)
            if await CopyStore(transaction).turn(*where, CopyState.GONE, (copy.state,), now) and artifact:
                await settle(transaction, artifact, artifact.transfer)

    async def held(self, node_id: str, copy: HeldCopy, *, replaced: bool) -> None:
        """The node has it. What was replaced, or is damaged, is on record only until it is deleted."""
        async with self.context.database.transaction(copy.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(copy.artifact_hash)
            if artifact is None:
                return
            await CopyStore(transaction).hold(copy, node_id, self.context.clock.now())
            if replaced:
                await self._give_up_all(transaction, artifact, node_id)
            await settle(transaction, artifact, artifact.transfer)

    # --- Accesses.

    async def accesses(self, line: NodeConnection, sequence: int, accesses: Sequence[CopyAccess]) -> None:
        """Each batch counts once."""
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            if await NodeStore(transaction.connection).counted(line, sequence):
                await transaction.enter_system()
                await accessed(transaction.connection, line.node_id, accesses)


def _came_too_late(command: Command, artifact: Artifact | None) -> bool:
    """What was made of a deleted artifact is of no use: it goes again."""
    is_gone = artifact is None or artifact.status is ArtifactStatus.DELETED
    return is_gone and command.kind is not CommandKind.DELETE
