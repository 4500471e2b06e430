"""Multipart uploads: begun by us, filled by whoever holds the signed URLs, completed by us once they are whole.

Invariants: completing twice is the same as once, and an object that exists is never replaced. SeaweedFS looks for the
object before it completes, not in the same step: two uploads of one key need an owner who completes only one of them.
A signed URL is made without a request to the store and never written to a log: whoever has it may use it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, timedelta
from hashlib import md5
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from touchline.kernel import AlreadyExists, Conflict, InvalidInput, LimitExceeded, NotFound, SystemClock

from . import rules
from .clients import ThreadedS3

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
