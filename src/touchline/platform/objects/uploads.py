"""Uploads in parts: begun by us, filled by whoever holds the signed links, completed by us once they are whole.

Invariant: completing twice is the same as once, and an object that exists is never replaced. SeaweedFS looks for the
object before it completes, not in the same step: two uploads of one key need an owner who completes only one of them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, timedelta
from hashlib import md5
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from touchline.kernel.errors import AlreadyExists, Conflict, InvalidInput, LimitExceeded, NotFound

from .keys import object_key
from .links import Links
from .model import (
    DEFAULT_TYPE,
    WRITER,
    Attributes,
    ObjectInfo,
    OpenUpload,
    Part,
    PartPlan,
    PartsCheck,
    SignedUrl,
    Upload,
    UploadPage,
)
from .rules import LARGEST_PAGE, MOST_PARTS, check_parts, page_size, require_whole
from .s3 import S3

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, ListPartsOutputTypeDef

MOST_LISTED_PARTS = 5 * MOST_PARTS


class Uploads:
    def __init__(self, s3: S3, links: Links, head: Callable[[str], Awaitable[ObjectInfo]]) -> None:
        self._s3 = s3
        self._links = links
        self._head = head

    async def begin(
        self, key: str, *, content_type: str = DEFAULT_TYPE, metadata: Mapping[str, str] | None = None
    ) -> Upload:
        name, writer = object_key(key), uuid4().hex
        attributes = Attributes(content_type, metadata or {}).plus(WRITER, writer)
        answer = await self._s3.call(
            lambda client: client.create_multipart_upload(
                Bucket=self._s3.bucket,
                Key=name,
                ContentType=attributes.content_type,
                Metadata=dict(attributes.metadata),
            ),
            name,
        )
        return Upload(name, answer["UploadId"], writer)

    async def presign_part(
        self, upload: Upload, plan: PartPlan, number: int, expires: timedelta | None = None
    ) -> SignedUrl:
        """For exactly as many bytes as the plan has there. Sending it again is allowed: answers get lost."""
        if not 1 <= number <= min(plan.count, MOST_PARTS):
            raise InvalidInput("not a part number", field="number", why=f"parts are numbered 1 to {plan.count}")
        return await self._links.part(upload, number, plan.part_size(number), expires)

    async def send_part(self, upload: Upload, number: int, data: bytes) -> None:
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

    async def parts(self, upload: Upload | OpenUpload) -> tuple[Part, ...]:
        """What has arrived so far, by number. NotFound: completed, aborted or never begun."""
        parts: list[Part] = []
        while True:
            answer = await self._page_of_parts(upload, after=parts[-1].number if parts else 0)
            parts += [_part(found) for found in answer.get("Parts", [])]
            if not answer["IsTruncated"]:
                return tuple(parts)
            if len(parts) > MOST_LISTED_PARTS:
                raise LimitExceeded("too many parts were sent again", why=upload.key, hint="Abort the upload.")

    async def progress(self, upload: Upload, plan: PartPlan, etags: Mapping[int, str] | None = None) -> PartsCheck:
        """Which parts are still to be sent, or sent again."""
        return check_parts(plan, await self.parts(upload), etags)

    async def complete(self, upload: Upload, plan: PartPlan, etags: Mapping[int, str] | None = None) -> ObjectInfo:
        """Refuses what is not whole, naming the parts; the upload stays open and can be mended."""
        try:
            check = check_parts(plan, await self.parts(upload), etags)
            require_whole(check)
            await self._assemble(upload, check.chosen)
        except (AlreadyExists, NotFound) as error:
            return await self._completed(upload, plan, error)  # perhaps by ourselves, and the answer was lost
        return await self._completed(upload, plan, Conflict("another upload took the key", why=upload.key))

    async def abort(self, upload: Upload | OpenUpload) -> None:
        """Frees the bytes of the parts; fine if it is gone already."""
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
        self, prefix: str = "", after: tuple[str, str] | None = None, limit: int = LARGEST_PAGE
    ) -> UploadPage:
        """Uploads that are still open, in the order of the store."""
        size = page_size(limit)
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
        return UploadPage(uploads, more if answer["IsTruncated"] else None)

    async def _page_of_parts(self, upload: Upload | OpenUpload, after: int) -> ListPartsOutputTypeDef:
        return await self._s3.call(
            lambda client: client.list_parts(
                Bucket=self._s3.bucket, Key=upload.key, UploadId=upload.id, PartNumberMarker=after
            ),
            upload.key,
        )

    async def _assemble(self, upload: Upload, parts: tuple[Part, ...]) -> None:
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

    async def _completed(self, upload: Upload, plan: PartPlan, otherwise: Exception) -> ObjectInfo:
        """The object, if it is this upload's and whole."""
        try:
            info = await self._head(upload.key)
        except NotFound:
            raise otherwise from None
        if info.metadata.get(WRITER) != upload.writer or info.size_bytes != plan.size_bytes:
            raise otherwise
        return info


def _part_number(number: int) -> int:
    if not 1 <= number <= MOST_PARTS:
        raise InvalidInput("not a part number", field="number", why=f"parts are numbered 1 to {MOST_PARTS}")
    return number


def _part(found: Mapping[str, Any]) -> Part:
    modified_at = found["LastModified"].astimezone(UTC)
    return Part(found["PartNumber"], found["Size"], found["ETag"].strip('"'), modified_at)


def _open_upload(found: Mapping[str, Any]) -> OpenUpload:
    return OpenUpload(found["Key"], found["UploadId"], found["Initiated"].astimezone(UTC))
