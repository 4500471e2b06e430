"""The end of an upload that became nothing: its bytes are freed, then its row goes.

Invariant: safe to run twice and on two machines; until everything is gone the row stays, and its owner comes back.
"""

from __future__ import annotations

import logging

from touchline.kernel import TenantId, TouchlineError
from touchline.kernel.ids import ArtifactHash
from touchline.platform.objects.store import ObjectStore
from touchline.serve.artifacts import changes
from touchline.serve.artifacts.model import Status
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.environment import Environment

from .model import Multipart
from .rules import ENDED, LOST
from .store import MultipartStore

logger = logging.getLogger(__name__)


async def release(environment: Environment, tenant_id: TenantId, artifact_hash: ArtifactHash) -> None:
    """For artifacts that are aborting, failed or deleted: none of these takes parts again."""
    async with environment.database.transaction(tenant_id) as transaction:
        artifact = await ArtifactStore(transaction).find(artifact_hash)
        multipart = await MultipartStore(transaction).find(artifact_hash)
    if artifact is None or artifact.status not in ENDED or multipart is None:
        return
    await _free(environment.objects, multipart)
    until = environment.clock.now() + environment.settings.retention
    async with environment.database.transaction(tenant_id) as transaction:
        await changes.fail(transaction, artifact_hash, artifact.reason or LOST, (Status.ABORTING,), until)
        await MultipartStore(transaction).remove(artifact_hash)


async def release_soon(environment: Environment, tenant_id: TenantId, artifact_hash: ArtifactHash) -> None:
    """Now if possible; otherwise the owner does it."""
    try:
        await release(environment, tenant_id, artifact_hash)
    except TouchlineError as error:
        logger.warning("parts are freed later", extra={"artifact": artifact_hash, "reason": str(error)})


async def _free(objects: ObjectStore, multipart: Multipart) -> None:
    """First nothing can be put together any more, then what was put together goes."""
    if multipart.upload_id is not None:
        await objects.uploads.abort(multipart.upload)
    await abort_open(objects, multipart.object_key)
    await objects.delete(multipart.object_key)


async def abort_open(objects: ObjectStore, key: str) -> None:
    """Uploads of this key that somebody began and did not live to note."""
    for upload in (await objects.uploads.list(key)).uploads:
        if upload.key == key:
            await objects.uploads.abort(upload)
