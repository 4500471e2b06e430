"""The object store: one bucket of immutable objects, read as streams.

Invariants: nothing is overwritten but by `replace`, every key is checked, every answer is bounded, and an error is
never taken for an absence. A copy is of the object that was meant, and is there as a whole or not at all. The bucket
can be created from any number of machines at once.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Self

import obstore
from obstore.exceptions import BaseError

from touchline.kernel import errors, format_bytes
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.settings import ObjectsSettings

from . import rules
from .clients import ThreadedS3, error_from_response, from_obstore, make_data_client
from .writes import MultipartUploads, ObjectWriter, UrlSigner, measure_body

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CORSRuleTypeDef, HeadObjectOutputTypeDef, ObjectIdentifierTypeDef
    from obstore import GetOptions, GetResult


_HOME_REGION = "us-east-1"  # the one region that must not be named when a bucket is created
_MAX_AGE_SECONDS = 3600


async def ensure_bucket(s3: ThreadedS3, origins: Sequence[str]) -> rules.BucketStatus:
    if not await _bucket_exists(s3):
        await _create(s3)
    return rules.BucketStatus(browser_ready=await _set_cors_rule(s3, origins))


async def _bucket_exists(s3: ThreadedS3) -> bool:
    try:
        await s3.call(lambda client: client.head_bucket(Bucket=s3.bucket), f"bucket {s3.bucket}")
    except errors.NotFound:
        return False
    return True


async def _create(s3: ThreadedS3) -> None:
    def create(client: S3Client) -> None:
        if s3.region == _HOME_REGION:
            client.create_bucket(Bucket=s3.bucket)
        else:
            place = client.meta.region_name
            client.create_bucket(Bucket=s3.bucket, CreateBucketConfiguration={"LocationConstraint": place})  # pyright: ignore[reportArgumentType]

    try:
        await s3.call(create, f"bucket {s3.bucket}")
    except errors.Conflict:
        # Another machine was faster, or the name belongs to someone else: then this raises.
        await s3.call(lambda client: client.head_bucket(Bucket=s3.bucket), f"bucket {s3.bucket}")


async def _set_cors_rule(s3: ThreadedS3, origins: Sequence[str]) -> bool:
    """Lets pages send parts and read their ETag. Not every service, nor every access key, can set this."""
    rule: CORSRuleTypeDef = {
        "AllowedOrigins": list(origins),
        "AllowedMethods": ["GET", "HEAD", "PUT"],
        "AllowedHeaders": ["*"],
        "ExposeHeaders": ["ETag", "Content-Range", "Accept-Ranges"],
        "MaxAgeSeconds": _MAX_AGE_SECONDS,
    }
    try:
        await s3.call(
            lambda client: client.put_bucket_cors(Bucket=s3.bucket, CORSConfiguration={"CORSRules": [rule]}),
            f"CORS rule of bucket {s3.bucket}",
        )
    except (errors.Defect, errors.Misconfigured):
        return False
    return True


PART_BYTES = 512 * 1024**2  # 10,000 of them are as large as an object may be


async def copy_object(
    s3: ThreadedS3,
    names: tuple[rules.ObjectKey, rules.ObjectKey],
    etag: str,
    attributes: rules.ObjectAttributes,
    single_limit: int,
) -> None:
    """From the first key to the second; objects larger than the limit are copied in parts."""
    from boto3.s3.transfer import TransferConfig

    source, target = names
    config = TransferConfig(multipart_threshold=single_limit, multipart_chunksize=PART_BYTES, use_threads=False)
    try:
        await s3.call(
            lambda client: client.copy(
                CopySource={"Bucket": s3.bucket, "Key": source},
                Bucket=s3.bucket,
                Key=target,
                ExtraArgs={
                    "CopySourceIfMatch": etag,
                    "MetadataDirective": "REPLACE",
                    "ContentType": attributes.content_type,
                    "Metadata": dict(attributes.metadata),
                },
                Config=config,
            ),
            source,
        )
    except errors.AlreadyExists as error:  # the one condition of this request
        raise errors.Conflict(f"{source} has changed", why="it is not the object that was checked") from error


CHUNK_BYTES = 1024**2
LARGEST_GET_BYTES = 64 * 1024**2


class ObjectStore:
    def __init__(self, endpoint: ObjectsEndpoint, settings: ObjectsSettings) -> None:
        self._settings = settings
        self._data = make_data_client(endpoint, settings)
        self._s3 = ThreadedS3(endpoint, settings)
        self._links = UrlSigner(self._s3, settings.presign_lifetime)
        self.uploads = MultipartUploads(self._s3, self._links, self.head)
        self._writes = ObjectWriter(self._s3, self._data, self.uploads, self.head, settings.single_put_limit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._s3.close()

    async def prepare(self) -> None:
        """Creates the blocking client now, so that the first call does not wait for its import."""
        await self._s3.call(lambda _: None, self._s3.bucket)

    async def ensure_bucket(self) -> rules.BucketStatus:
        return await ensure_bucket(self._s3, self._settings.browser_origins)

    async def put_new(
        self,
        key: str,
        data: rules.BodySource,
        *,
        content_type: str = rules.DEFAULT_TYPE,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Raises AlreadyExists if the key holds an object, whatever is in it."""
        name, attributes = rules.object_key(key), rules.ObjectAttributes(content_type, metadata or {})
        async with measure_body(data) as body:
            await self._writes.put_new(name, body, attributes)

    async def put_once(
        self,
        key: str,
        data: rules.BodySource,
        *,
        content_type: str = rules.DEFAULT_TYPE,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """The same, but accepts an existing object with the same bytes: for work that may be done twice."""
        name, attributes = rules.object_key(key), rules.ObjectAttributes(content_type, metadata or {})
        async with measure_body(data) as body:
            try:
                await self._writes.put_new(name, body, attributes)
            except errors.AlreadyExists:
                await self._require_same(name, body.size_bytes, body.sha256)

    async def replace(
        self,
        key: str,
        data: bytes,
        *,
        content_type: str = rules.DEFAULT_TYPE,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Overwrites: for the few small objects with a fixed key that point to others."""
        await self._writes.put_bytes(
            rules.object_key(key), data, rules.ObjectAttributes(content_type, metadata or {}), replace=True
        )

    async def copy(
        self, source: str, target: str, *, etag: str, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        """Inside the store. Conflict when the source is no longer the one with this ETag."""
        names, attributes = (
            (rules.object_key(source), rules.object_key(target)),
            rules.ObjectAttributes(content_type, metadata or {}),
        )
        await copy_object(self._s3, names, etag, attributes, self._settings.single_put_limit)

    async def get(self, key: str, *, at_most: int = LARGEST_GET_BYTES) -> bytes:
        """A small object as a whole."""
        result = await self._open(rules.object_key(key), None)
        if result.meta["size"] > at_most:
            raise errors.LimitExceeded(
                "the object is too large to read at once", why=f"{key} has more than {format_bytes(at_most)}"
            )
        return await self._collect(key, result)

    async def read_range(self, key: str, byte_range: rules.ByteRange) -> bytes:
        """As much of the range as the object has; InvalidInput if the object ends before it."""
        if byte_range.stop is None or byte_range.stop - byte_range.start > LARGEST_GET_BYTES:
            raise errors.InvalidInput("the range is too large to read at once", field="range")
        return await self._collect(key, await self._open(rules.object_key(key), byte_range))

    async def stream(
        self, key: str, byte_range: rules.ByteRange | None = None, *, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        """Chunks of about that size. Ends only where the object or range ends, else raises."""
        result = await self._open(rules.object_key(key), byte_range)
        expected = result.range[1] - result.range[0]
        try:
            async for chunk in result.stream(min_chunk_size=chunk_bytes):
                expected -= len(chunk)
                yield chunk
        except BaseError as error:
            raise from_obstore(error, key) from error
        if expected:
            raise errors.Unavailable("the object ended early", why=f"{key}: {expected} bytes are missing")

    async def head(self, key: str) -> rules.ObjectInfo:
        name = rules.object_key(key)
        try:
            answer = await self._s3.call(
                lambda client: client.head_object(Bucket=self._s3.bucket, Key=name, ChecksumMode="ENABLED"), name
            )
        except errors.NotFound:
            await self._require_bucket()  # this response has no body to tell a missing bucket from a missing key
            raise
        return _info(name, answer)

    async def exists(self, key: str) -> bool:
        """False only if the store said so."""
        try:
            await self.head(key)
        except errors.NotFound:
            return False
        return True

    async def list(self, prefix: str, *, after: str = "", limit: int = rules.LARGEST_PAGE) -> rules.ObjectPage:
        """A page of the keys that start with the prefix, in the order of the store (not every one sorts by bytes)."""
        size = rules.page_size(limit)
        answer = await self._s3.call(
            lambda client: client.list_objects_v2(
                Bucket=self._s3.bucket, Prefix=prefix, StartAfter=after, MaxKeys=size
            ),
            f"keys under {prefix!r}",
        )
        found = tuple(_listed(item) for item in answer.get("Contents", []))
        if answer["IsTruncated"] and not found:
            raise errors.Unavailable("the listing ended early", why=f"keys under {prefix!r}")
        return rules.ObjectPage(found, found[-1].key if answer["IsTruncated"] else None)

    async def delete(self, key: str) -> None:
        """Succeeds if there is none."""
        name = rules.object_key(key)
        await self._s3.call(lambda client: client.delete_object(Bucket=self._s3.bucket, Key=name), name)

    async def delete_prefix(self, prefix: str, *, limit: int = rules.LARGEST_PAGE) -> rules.DeletionResult:
        """Deletes everything under a key, as under a folder, and checks that it is gone."""
        folder, count = rules.object_key(prefix) + "/", 0
        while count < limit:
            page = await self.list(folder, limit=limit - count)
            if not page.objects:
                return rules.DeletionResult(count, more=False)
            await self._delete_listed(folder, page)
            count += len(page.objects)
        return rules.DeletionResult(count, more=bool((await self.list(folder, limit=1)).objects))

    async def presign_get(
        self, key: str, expires: timedelta | None = None, download_name: str | None = None
    ) -> rules.SignedUrl:
        return await self._links.get(key, expires, download_name)

    async def _open(self, key: rules.ObjectKey, byte_range: rules.ByteRange | None) -> GetResult:
        options: GetOptions = {}
        if byte_range is not None and byte_range.stop is not None:
            options["range"] = (byte_range.start, byte_range.stop)
        elif byte_range is not None:
            options["range"] = {"offset": byte_range.start}
        try:
            return await obstore.get_async(self._data, key, options=options)
        except (BaseError, FileNotFoundError) as error:
            raise from_obstore(error, key) from error

    async def _collect(self, key: str, result: GetResult) -> bytes:
        try:
            return bytes(await result.bytes_async())
        except BaseError as error:
            raise from_obstore(error, key) from error

    async def _require_same(self, key: rules.ObjectKey, size_bytes: int, sha256: str) -> None:
        info = await self.head(key)
        if info.size_bytes != size_bytes or (info.sha256 or await self._read_sha256(key)) != sha256:
            raise errors.Conflict(f"{key} holds different data", why="objects are written only once")

    async def _read_sha256(self, key: rules.ObjectKey) -> str:
        digest = hashlib.sha256()
        async for chunk in self.stream(key):
            digest.update(chunk)
        return digest.hexdigest()

    async def _require_bucket(self) -> None:
        try:
            await self._s3.call(lambda client: client.head_bucket(Bucket=self._s3.bucket), self._s3.bucket)
        except errors.NotFound:
            raise error_from_response(404, "NoSuchBucket", self._s3.bucket) from None

    async def _delete_listed(self, folder: str, page: rules.ObjectPage) -> None:
        keys: list[ObjectIdentifierTypeDef] = [{"Key": item.key} for item in page.objects]
        answer = await self._s3.call(
            lambda client: client.delete_objects(Bucket=self._s3.bucket, Delete={"Objects": keys, "Quiet": True}),
            f"keys under {folder!r}",
        )
        for refused in answer.get("Errors", []):
            raise error_from_response(500, refused.get("Code", ""), refused.get("Key", folder))


def _info(key: rules.ObjectKey, answer: HeadObjectOutputTypeDef) -> rules.ObjectInfo:
    metadata = dict(answer["Metadata"])
    checksum = answer.get("ChecksumSHA256", "")
    return rules.ObjectInfo(
        key=key,
        size_bytes=answer["ContentLength"],
        etag=answer["ETag"].strip('"'),
        content_type=answer["ContentType"],
        modified_at=answer["LastModified"].astimezone(UTC),
        # A checksum with a dash is one over the checksums of parts, which says nothing about the whole.
        sha256=b64decode(checksum).hex() if checksum and "-" not in checksum else metadata.get(rules.SHA256),
        metadata=metadata,
    )


def _listed(item: Mapping[str, Any]) -> rules.ListedObject:
    modified_at = item["LastModified"].astimezone(UTC)
    return rules.ListedObject(item["Key"], item["Size"], item["ETag"].strip('"'), modified_at)
