"""New objects, written once.

Invariant: a key that holds an object keeps it; of any number of writers at once exactly one wins. One request with
If-None-Match is what every store decides in one step, so a file goes up in one request as long as it may.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from touchline.kernel.errors import AlreadyExists, Conflict, NotFound, TouchlineError

from .body import Body
from .errors import from_obstore
from .keys import ObjectKey
from .model import SHA256, WRITER, Attributes, ObjectInfo, PartPlan, Upload
from .rules import part_plan
from .s3 import S3
from .uploads import Uploads


@dataclass(frozen=True, slots=True)
class Writes:
    s3: S3
    data: S3Store
    uploads: Uploads
    head: Callable[[str], Awaitable[ObjectInfo]]
    single_put_limit: int

    async def put_new(self, key: ObjectKey, body: Body, attributes: Attributes) -> None:
        if body.size_bytes > self.single_put_limit:
            await self._put_parts(key, body, attributes.plus(SHA256, body.sha256))
            return
        writer = uuid4().hex
        try:
            await self._put_whole(key, body, attributes.plus(WRITER, writer))
        except AlreadyExists:
            # A request whose answer was lost is sent again, and then finds the object that it made itself.
            if not await self._is_from(key, writer):
                raise

    async def put_bytes(self, key: ObjectKey, data: bytes, attributes: Attributes, *, replace: bool) -> None:
        try:
            await obstore.put_async(
                self.data,
                key,
                data,
                attributes={"Content-Type": attributes.content_type, **attributes.metadata},
                mode="overwrite" if replace else "create",
                use_multipart=False,
            )
        except (BaseError, FileNotFoundError) as error:
            raise from_obstore(error, key) from error

    async def _put_whole(self, key: ObjectKey, body: Body, attributes: Attributes) -> None:
        if isinstance(body.content, bytes):
            await self.put_bytes(key, body.content, attributes, replace=False)
            return
        await self.s3.call(
            lambda client: client.put_object(
                Bucket=self.s3.bucket,
                Key=key,
                Body=body.content,
                ContentLength=body.size_bytes,
                ContentType=attributes.content_type,
                Metadata=dict(attributes.metadata),
                ChecksumSHA256=body.sha256_base64,
                IfNoneMatch="*",
            ),
            key,
        )

    async def _is_from(self, key: ObjectKey, writer: str) -> bool:
        try:
            return (await self.head(key)).metadata.get(WRITER) == writer
        except NotFound as error:
            why = "other objects lie under it as if it were a folder, or it was just deleted"
            raise Conflict(f"the key {key} is taken", why=why) from error

    async def _put_parts(self, key: ObjectKey, body: Body, attributes: Attributes) -> None:
        plan = part_plan(body.size_bytes)
        upload = await self.uploads.begin(key, content_type=attributes.content_type, metadata=attributes.metadata)
        try:
            await self._send_parts(upload, plan, body)
            await self.uploads.complete(upload, plan)
        except BaseException:
            with suppress(TouchlineError):  # the first error is the one to tell; open uploads are found and aborted
                await asyncio.shield(self.uploads.abort(upload))
            raise

    async def _send_parts(self, upload: Upload, plan: PartPlan, body: Body) -> None:
        digest = hashlib.sha256()
        file = BytesIO(body.content) if isinstance(body.content, bytes) else body.content
        for number in range(1, plan.count + 1):
            data = await asyncio.to_thread(file.read, plan.part_size(number))
            await asyncio.to_thread(digest.update, data)
            await self.uploads.send_part(upload, number, data)
        if digest.digest() != body.digest:
            raise Conflict("the file changed while it was sent", why=upload.key)
