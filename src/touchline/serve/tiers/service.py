"""Moving an artifact between the object store and the nodes: freeze, warm, and giving up copies.

Invariants: a move is asked once at a time, under the lock of the artifact's row, and tells of itself in the same
transaction. A copy is given up only where the object store was seen to have it, or the artifact is gone for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from prometheus_client import Counter

from touchline.contracts.events.artifacts import ArtifactType, StorageTransfer
from touchline.kernel import ArtifactHash, PlaybackId, Principal, TenantId, errors, uuid7, video_id
from touchline.platform.objects.rules import join_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import STAYS_PLAYABLE, Artifact, existing
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import WITHOUT_TENANT, TierContext
from touchline.serve.nodes.rules import Command, CommandKind, Node, choose, is_usable
from touchline.serve.nodes.store import CommandStore, NodeStore
from touchline.serve.playback.files import is_segment
from touchline.serve.registry.store import find_playback_id
from touchline.serve.settings import ColdPlayback

from .queries import copies_of
from .rules import Copy, CopyState
from .store import CopyStore

TRANSFERS = Counter("touchline_storage_transfers", "Freezes and defrosts, by result.", ["transfer", "outcome"])
MOST_NODES = 1000
MOST_PAGES = 200  # of a rendition's listing


class Warmth(StrEnum):
    WARM = "warm"
    WARMING = "warming"
    COLD = "cold"  # and no node has room for it


@dataclass(frozen=True, slots=True)
class TierService:
    context: TierContext

    async def start_playback(self, playback_id: PlaybackId) -> None:
        """Somebody is about to watch it. What is cold is warmed; Warming where viewers are to wait for that. Whether it
        can be played at all is not said here."""
        async with self.context.database.transaction(WITHOUT_TENANT) as transaction:
            place = await find_playback_id(transaction.connection, playback_id)
        if place is None:
            return
        try:
            warmth = await self._warm(place.tenant_id, place.artifact_hash, "")
        except (errors.NotFound, errors.Conflict):
            return
        settings = self.context.settings
        if warmth is Warmth.WARMING and settings.cold_playback is ColdPlayback.WARM:
            hint = f"Try again in {settings.warming_retry.total_seconds():g} seconds."
            what, why = "this video is being loaded", "it is in cold storage"
            raise errors.Warming(what, why=why, hint=hint, retry_after=settings.warming_retry)

    async def warm(self, caller: Principal, artifact_hash: ArtifactHash) -> Artifact:
        warmth = await self._warm(caller, artifact_hash, "")
        if warmth is Warmth.COLD:
            hint = "Add a node, or raise `node.budget`; `touchline nodes list` shows how full the nodes are."
            raise errors.Unavailable("no node has enough free space for this video", why=artifact_hash, hint=hint)
        async with self.context.database.transaction(caller) as transaction:
            return existing(await ArtifactStore(transaction).find(artifact_hash), artifact_hash)

    async def freeze(
        self, caller: Principal | TenantId, artifact_hash: ArtifactHash, *, keep: bool = False
    ) -> Artifact:
        """Into the object store, and off the nodes, unless a copy is to be kept. What is frozen already stays so."""
        async with self.context.database.transaction(caller) as transaction:
            artifact = existing(await ArtifactStore(transaction).find_locked(artifact_hash), artifact_hash)
            if artifact.transfer is StorageTransfer.FREEZE:
                return artifact
            if artifact.transfer is StorageTransfer.DEFROST:
                raise errors.Conflict(
                    "this video is being warmed", why=artifact_hash, hint="Freeze it when that is done."
                )
            copies = [copy for copy in await CopyStore(transaction).of(artifact_hash) if _is_present(copy)]
            if not copies and artifact.synced:
                return artifact
            if not copies:
                raise errors.Conflict("there is nothing to freeze", why=f"there is no copy of {artifact_hash}")
            node = await self._node_of(transaction, copies)
            return await self._move(transaction, artifact, node, self._freeze_command(artifact, node, keep))

    async def _warm(self, tenant: TenantId | Principal, artifact_hash: ArtifactHash, locality: str) -> Warmth:
        async with self.context.database.transaction(tenant) as transaction:
            if await copies_of(transaction, artifact_hash, limit=1):
                return Warmth.WARM
            artifact = existing(await ArtifactStore(transaction).find_locked(artifact_hash), artifact_hash)
            if artifact.transfer is StorageTransfer.DEFROST:
                return Warmth.WARMING
            if artifact.status not in STAYS_PLAYABLE or artifact.manifest_key is None:
                raise errors.Conflict("this video cannot be warmed", why=f"it is {artifact.status}")
            if artifact.transfer is not None:
                return Warmth.COLD
            node = await self._node_for(transaction, artifact, locality)
            if node is None:
                return Warmth.COLD
            command = self._command(artifact, node, CommandKind.DEFROST)
            if await CopyStore(transaction).begin(
                artifact_hash, node.node_id, artifact.manifest_key, self.context.clock.now()
            ):
                await self._move(transaction, artifact, node, command)
                return Warmth.WARMING
            return Warmth.COLD

    async def _move(self, transaction: Transaction, artifact: Artifact, node: Node, command: Command) -> Artifact:
        if not await CommandStore(transaction).add(command, self.context.clock.now()):
            raise errors.Conflict("this video is being moved already", why=artifact.artifact_hash)
        transfer = StorageTransfer.FREEZE if command.kind is CommandKind.FREEZE else StorageTransfer.DEFROST
        return await settle(transaction, artifact, transfer)

    async def _node_for(self, transaction: Transaction, artifact: Artifact, locality: str) -> Node | None:
        """One that has nothing of it: what it has is on its way out."""
        copies = await CopyStore(transaction).of(artifact.artifact_hash)
        taken = {copy.node_id for copy in copies if copy.state is not CopyState.GONE}
        nodes = [node for node in await NodeStore(transaction.connection).all(MOST_NODES) if node.node_id not in taken]
        return choose(nodes, artifact.size_bytes or 0, locality)

    async def _node_of(self, transaction: Transaction, copies: Sequence[Copy]) -> Node:
        """One that has it, and can be asked."""
        nodes = {node.node_id: node for node in await NodeStore(transaction.connection).all(MOST_NODES)}
        holders = [node for copy in copies if (node := nodes.get(copy.node_id)) and is_usable(node)]
        if not holders:
            raise errors.Unavailable(
                "no node that has this video is connected", why=", ".join(one.node_id for one in copies)
            )
        return min(holders, key=lambda node: (node.load, node.node_id))

    def _freeze_command(self, artifact: Artifact, node: Node, keep: bool) -> Command:
        """It writes under its own id, where nobody else writes."""
        command = self._command(artifact, node, CommandKind.FREEZE)
        folders = str(video_id(artifact.artifact_hash)), str(command.id)
        prefixes = {
            "rendition_prefix": join_key("videos", "proxy", *folders),
            "poster_prefix": join_key("thumbs", *folders),
        }
        return replace(command, payload={**command.payload, **prefixes, "keep": keep})

    def _command(self, artifact: Artifact, node: Node, kind: CommandKind) -> Command:
        now = self.context.clock.now()
        ids, deadline = (artifact.tenant_id, artifact.artifact_hash), now + self.context.settings.transfer_time
        return Command(uuid7(now), node.node_id, kind, *ids, _keys(artifact), deadline)


def _keys(artifact: Artifact) -> dict[str, object]:
    """Where the object store has it."""
    return {
        "manifest_key": (artifact.synced and artifact.manifest_key) or "",
        "poster_key": (artifact.synced and artifact.poster_key) or "",
        "clip_key": artifact.original_key if artifact.artifact_type is ArtifactType.CLIP else "",
    }


def _is_present(copy: Copy) -> bool:
    return copy.state is CopyState.PRESENT


async def settle(transaction: Transaction, artifact: Artifact, transfer: StorageTransfer | None) -> Artifact:
    """Its copies and its move as they are now, told to everybody when they changed."""
    changed = await CopyStore(transaction).settle(artifact.artifact_hash, transfer)
    return transitions.announce(transaction, changed) if changed else artifact


async def give_up(transaction: Transaction, context: TierContext, copy: Copy, *, also_in_use: bool) -> bool:
    """Asks the node to delete its copy. False when it is not there any more, or asked already."""
    now = context.clock.now()
    store, states = CopyStore(transaction), (CopyState.PRESENT,)
    if not await store.turn(copy.artifact_hash, copy.node_id, CopyState.EVICTING, states, now):
        return False
    payload = {"manifest_key": copy.manifest_key, "also_in_use": also_in_use}
    ids, deadline = (copy.tenant_id, copy.artifact_hash), now + context.settings.delete_time
    command = Command(uuid7(now), copy.node_id, CommandKind.DELETE, *ids, payload, deadline)
    return await CommandStore(transaction).add(command, now)


@dataclass(frozen=True, slots=True)
class StoredRendition:
    segments: int
    segment_bytes: int

    def holds(self, segments: int, segment_bytes: int) -> bool:
        return self.segments >= segments and self.segment_bytes >= segment_bytes


async def stored_rendition(objects: ObjectStore, manifest_key: str) -> StoredRendition | None:
    """What the object store has of a rendition now; None: not even its manifest."""
    try:
        await objects.head(manifest_key)
    except errors.NotFound:
        return None
    folder, after = f"{manifest_key.rpartition('/')[0]}/", ""
    found: list[tuple[str, int]] = []
    for _ in range(MOST_PAGES):
        page = await objects.list(folder, after=after)
        found += [(item.key, item.size_bytes) for item in page.objects]
        if page.next_after is None:
            break
        after = page.next_after
    segments = [size for key, size in found if is_segment(key)]
    return StoredRendition(len(segments), sum(segments))


async def is_stored(objects: ObjectStore, copy: Copy) -> bool:
    """Whether the object store has all that the copy is a copy of."""
    there = await stored_rendition(objects, copy.manifest_key)
    return there is not None and there.holds(copy.segment_count, copy.segment_bytes)
