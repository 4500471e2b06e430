"""New objects, written once, with their size and checksum as part of the request.

Invariants: a key that holds an object keeps it; of any number of concurrent writers exactly one wins. One request with
If-None-Match is what every store decides in one step, so a file goes up in one request as long as it may. Never a whole
file in memory: a stream is written to a temporary file first, because only a body that can be read again can be sent
again, and only a request with a known length can be refused as a whole.

Multipart uploads: begun by us, filled by whoever holds the signed URLs, completed by us once they are whole.

Invariants: completing twice is the same as once, and an object that exists is never replaced. SeaweedFS looks for the
object before it completes, not in the same step: two uploads of one key need an owner who completes only one of them.
A signed URL is made without a request to the store and never written to a log: whoever has it may use it.
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from hashlib import md5
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from touchline.kernel import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    LimitExceeded,
    NotFound,
    SystemClock,
    TouchlineError,
    format_bytes,
)
from touchline.platform.files import open_file

from . import rules
from .clients import ThreadedS3, from_obstore

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, ListPartsOutputTypeDef


LONGEST_LIFETIME = timedelta(days=7)  # the signature's own limit


class UrlSigner:
    def __init__(self, s3: ThreadedS3, lifetime: timedelta) -> None:
        self._s3 = s3
        self._lifetime = lifetime

    async def get(self, key: str, expires: timedelta | None, download_name: str | None) -> rules.SignedUrl:
        """Reads the object, with ranges; with a name, the browser saves it under that name."""
        shown = (
            {"ResponseContentDisposition": rules.content_disposition(download_name)}
            if download_name is not None
            else {}
        )
        return await self._sign("get_object", {"Key": rules.object_key(key), **shown}, expires)

    async def part(
        self, upload: rules.MultipartUpload, number: int, size_bytes: int, expires: timedelta | None
    ) -> rules.SignedUrl:
        """Stores this one part of this one upload, of this length: the signature covers it, so the store refuses
        another before it reads a byte."""
        part = {"Key": upload.key, "UploadId": upload.id, "PartNumber": number, "ContentLength": size_bytes}
        return await self._sign("upload_part", part, expires)

    async def _sign(
        self, operation: Literal["get_object", "upload_part"], request: Mapping[str, Any], expires: timedelta | None
    ) -> rules.SignedUrl:
        lifetime = self._lifetime if expires is None else expires
        if not timedelta(seconds=1) <= lifetime <= LONGEST_LIFETIME:
            raise InvalidInput(
                "invalid lifetime for a signed URL", field="expires", why="it must be 1 second to 7 days"
            )
        # The signature uses the machine's time in whole seconds, so an injected clock would be wrong.
        signed_at = SystemClock().now().replace(microsecond=0)
        url = await self._s3.sign(
            lambda client: client.generate_presigned_url(
                operation, Params={"Bucket": self._s3.bucket, **request}, ExpiresIn=int(lifetime.total_seconds())
            ),
            "signed link",
        )
        return rules.SignedUrl(url, signed_at + lifetime)


MOST_LISTED_PARTS = 5 * rules.MOST_PARTS


class MultipartUploads:
    def __init__(self, s3: ThreadedS3, links: UrlSigner, head: Callable[[str], Awaitable[rules.ObjectInfo]]) -> None:
        self._s3 = s3
        self._links = links
        self._head = head

    async def begin(
        self, key: str, *, content_type: str = rules.DEFAULT_TYPE, metadata: Mapping[str, str] | None = None
    ) -> rules.MultipartUpload:
        name, writer = rules.object_key(key), uuid4().hex
        attributes = rules.ObjectAttributes(content_type, metadata or {}).with_metadata(rules.WRITER, writer)
        answer = await self._s3.call(
            lambda client: client.create_multipart_upload(
                Bucket=self._s3.bucket,
                Key=name,
                ContentType=attributes.content_type,
                Metadata=dict(attributes.metadata),
            ),
            name,
        )
        return rules.MultipartUpload(name, answer["UploadId"], writer)

    async def presign_part(
        self, upload: rules.MultipartUpload, plan: rules.PartPlan, number: int, expires: timedelta | None = None
    ) -> rules.SignedUrl:
        """For exactly as many bytes as the plan has there. The part may be sent again: responses get lost."""
        if not 1 <= number <= min(plan.count, rules.MOST_PARTS):
            raise InvalidInput("not a part number", field="number", why=f"parts are numbered 1 to {plan.count}")
        return await self._links.part(upload, number, plan.part_size(number), expires)

    async def send_part(self, upload: rules.MultipartUpload, number: int, data: bytes) -> None:
        """For our own files. The store compares the checksum with what arrives."""
        checksum = b64encode(md5(data, usedforsecurity=False).digest()).decode()
        await self._s3.call(
            lambda client: client.upload_part(
                Bucket=self._s3.bucket,
                Key=upload.key,
                UploadId=upload.id,
                PartNumber=_part_number(number),
                Body=data,
                ContentMD5=checksum,
            ),
            upload.key,
        )

    async def parts(self, upload: rules.MultipartUpload | rules.OpenUpload) -> tuple[rules.UploadedPart, ...]:
        """What has arrived so far, by number. NotFound: completed, aborted or never begun."""
        parts: list[rules.UploadedPart] = []
        while True:
            answer = await self._page_of_parts(upload, after=parts[-1].number if parts else 0)
            parts += [_part(found) for found in answer.get("Parts", [])]
            if not answer["IsTruncated"]:
                return tuple(parts)
            if len(parts) > MOST_LISTED_PARTS:
                raise LimitExceeded("too many parts were re-sent", why=upload.key, hint="Abort the upload.")

    async def progress(
        self, upload: rules.MultipartUpload, plan: rules.PartPlan, etags: Mapping[int, str] | None = None
    ) -> rules.PartsCheck:
        """Which parts are still to be sent, or sent again."""
        return rules.check_parts(plan, await self.parts(upload), etags)

    async def complete(
        self, upload: rules.MultipartUpload, plan: rules.PartPlan, etags: Mapping[int, str] | None = None
    ) -> rules.ObjectInfo:
        """Refuses what is not whole, naming the parts; the upload stays open and can be fixed."""
        try:
            check = rules.check_parts(plan, await self.parts(upload), etags)
            rules.require_complete(check)
            await self._assemble(upload, check.chosen)
        except (AlreadyExists, NotFound) as error:
            return await self._completed(upload, plan, error)  # perhaps by ourselves, and the response was lost
        return await self._completed(upload, plan, Conflict("another upload took the key", why=upload.key))

    async def abort(self, upload: rules.MultipartUpload | rules.OpenUpload) -> None:
        """Deletes the parts; succeeds if the upload is already gone."""
        try:
            await self._s3.call(
                lambda client: client.abort_multipart_upload(
                    Bucket=self._s3.bucket, Key=upload.key, UploadId=upload.id
                ),
                upload.key,
            )
            remaining = await self.parts(upload)
        except NotFound:
            return
        raise Conflict("parts were still arriving", why=f"{len(remaining)} of {upload.key}", hint="Abort it again.")

    async def list(
        self, prefix: str = "", after: tuple[str, str] | None = None, limit: int = rules.LARGEST_PAGE
    ) -> rules.UploadPage:
        """Uploads that are still open, in the order of the store."""
        size = rules.page_size(limit)
        key_marker, id_marker = after or ("", "")
        answer = await self._s3.call(
            lambda client: client.list_multipart_uploads(
                Bucket=self._s3.bucket,
                Prefix=prefix,
                KeyMarker=key_marker,
                UploadIdMarker=id_marker,
                MaxUploads=size,
            ),
            f"open uploads under {prefix!r}",
        )
        uploads = tuple(_open_upload(found) for found in answer.get("Uploads", []))
        more = (answer.get("NextKeyMarker", ""), answer.get("NextUploadIdMarker", ""))
        return rules.UploadPage(uploads, more if answer["IsTruncated"] else None)

    async def _page_of_parts(
        self, upload: rules.MultipartUpload | rules.OpenUpload, after: int
    ) -> ListPartsOutputTypeDef:
        return await self._s3.call(
            lambda client: client.list_parts(
                Bucket=self._s3.bucket, Key=upload.key, UploadId=upload.id, PartNumberMarker=after
            ),
            upload.key,
        )

    async def _assemble(self, upload: rules.MultipartUpload, parts: tuple[rules.UploadedPart, ...]) -> None:
        chosen: list[CompletedPartTypeDef] = [{"PartNumber": part.number, "ETag": part.etag} for part in parts]
        await self._s3.call(
            lambda client: client.complete_multipart_upload(
                Bucket=self._s3.bucket,
                Key=upload.key,
                UploadId=upload.id,
                MultipartUpload={"Parts": chosen},
                IfNoneMatch="*",
            ),
            upload.key,
        )

    async def _completed(
        self, upload: rules.MultipartUpload, plan: rules.PartPlan, otherwise: Exception
    ) -> rules.ObjectInfo:
        """The object, if this upload made it and it is complete."""
        try:
            info = await self._head(upload.key)
        except NotFound:
            raise otherwise from None
        if info.metadata.get(rules.WRITER) != upload.writer or info.size_bytes != plan.size_bytes:
            raise otherwise
        return info


def _part_number(number: int) -> int:
    if not 1 <= number <= rules.MOST_PARTS:
        raise InvalidInput("not a part number", field="number", why=f"parts are numbered 1 to {rules.MOST_PARTS}")
    return number


def _part(found: Mapping[str, Any]) -> rules.UploadedPart:
    modified_at = found["LastModified"].astimezone(UTC)
    return rules.UploadedPart(found["PartNumber"], found["Size"], found["ETag"].strip('"'), modified_at)


def _open_upload(found: Mapping[str, Any]) -> rules.OpenUpload:
    return rules.OpenUpload(found["Key"], found["UploadId"], found["Initiated"].astimezone(UTC))


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
