"""New objects, written once, with their size and checksum as part of the request.

Invariants: a key that holds an object keeps it; of any number of concurrent writers exactly one wins. One request with
If-None-Match is what every store decides in one step, so a file goes up in one request as long as it may. Never a whole
file in memory: a stream is written to a temporary file first, because only a body that can be read again can be sent
again, and only a request with a known length can be refused as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from touchline.kernel import AlreadyExists, Conflict, LimitExceeded, NotFound, TouchlineError, format_bytes
from touchline.platform.files import open_file

from . import rules
from .clients import ThreadedS3, from_obstore
from .uploads import MultipartUploads

IN_MEMORY_BYTES = 8 * 1024**2


@dataclass(frozen=True, slots=True)
class MeasuredBody:
    content: bytes | IO[bytes]
    size_bytes: int
    digest: bytes

    @property
    def sha256(self) -> str:
        return self.digest.hex()

    @property
    def sha256_base64(self) -> str:
        return b64encode(self.digest).decode()


@asynccontextmanager
async def measure_body(source: rules.BodySource) -> AsyncGenerator[MeasuredBody]:
    if isinstance(source, bytes):
        digest = await asyncio.to_thread(hashlib.sha256, source)
        yield MeasuredBody(source, len(source), digest.digest())
        return
    async with open_file(source, "rb") if isinstance(source, Path) else _spooled(source) as file:
        yield await asyncio.to_thread(_measure, file)


def _measure(file: IO[bytes]) -> MeasuredBody:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").digest()  # pyright: ignore[reportArgumentType]
    size_bytes = file.tell()
    file.seek(0)
    return MeasuredBody(file, size_bytes, digest)


@asynccontextmanager
async def _spooled(chunks: AsyncIterable[bytes]) -> AsyncGenerator[IO[bytes]]:
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as spool:
        file = cast("IO[bytes]", spool)
        async for chunk in chunks:
            await asyncio.to_thread(file.write, chunk)
            if file.tell() > rules.LARGEST_OBJECT_BYTES:
                raise LimitExceeded(
                    "the stream is too long", why=f"the limit is {format_bytes(rules.LARGEST_OBJECT_BYTES)}"
                )
        yield file


@dataclass(frozen=True, slots=True)
class ObjectWriter:
    s3: ThreadedS3
    data: S3Store
    uploads: MultipartUploads
    head: Callable[[str], Awaitable[rules.ObjectInfo]]
    single_put_limit: int

    async def put_new(self, key: rules.ObjectKey, body: MeasuredBody, attributes: rules.ObjectAttributes) -> None:
        if body.size_bytes > self.single_put_limit:
            await self._put_parts(key, body, attributes.with_metadata(rules.SHA256, body.sha256))
            return
        writer = uuid4().hex
        try:
            await self._put_whole(key, body, attributes.with_metadata(rules.WRITER, writer))
        except AlreadyExists:
            # A request whose response was lost is sent again, and then finds the object that it made itself.
            if not await self._is_from(key, writer):
                raise

    async def put_bytes(
        self, key: rules.ObjectKey, data: bytes, attributes: rules.ObjectAttributes, *, replace: bool
    ) -> None:
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

    async def _put_whole(self, key: rules.ObjectKey, body: MeasuredBody, attributes: rules.ObjectAttributes) -> None:
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

    async def _is_from(self, key: rules.ObjectKey, writer: str) -> bool:
        try:
            return (await self.head(key)).metadata.get(rules.WRITER) == writer
        except NotFound as error:
            why = "there are objects under it as if it were a folder, or it was just deleted"
            raise Conflict(f"the key {key} is taken", why=why) from error

    async def _put_parts(self, key: rules.ObjectKey, body: MeasuredBody, attributes: rules.ObjectAttributes) -> None:
        plan = rules.part_plan(body.size_bytes)
        upload = await self.uploads.begin(key, content_type=attributes.content_type, metadata=attributes.metadata)
        try:
            await self._send_parts(upload, plan, body)
            await self.uploads.complete(upload, plan)
        except BaseException:
            with suppress(TouchlineError):  # the first error matters more; open uploads are found and aborted later
                await asyncio.shield(self.uploads.abort(upload))
            raise

    async def _send_parts(self, upload: rules.MultipartUpload, plan: rules.PartPlan, body: MeasuredBody) -> None:
        digest = hashlib.sha256()
        file = BytesIO(body.content) if isinstance(body.content, bytes) else body.content
        for number in range(1, plan.count + 1):
            data = await asyncio.to_thread(file.read, plan.part_size(number))
            await asyncio.to_thread(digest.update, data)
            await self.uploads.send_part(upload, number, data)
        if digest.digest() != body.digest:
            raise Conflict("the file changed while it was sent", why=upload.key)
