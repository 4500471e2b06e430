"""Signed links: the right to one request on one object for a short time.

Invariant: made without asking the store, and never written to a log; whoever has the link has the right.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from touchline.kernel.clock import SystemClock
from touchline.kernel.errors import InvalidInput

from .keys import object_key
from .model import SignedUrl, Upload
from .rules import attachment
from .s3 import S3

LONGEST_LIFETIME = timedelta(days=7)  # the signature's own limit


class Links:
    def __init__(self, s3: S3, lifetime: timedelta) -> None:
        self._s3 = s3
        self._lifetime = lifetime

    async def get(self, key: str, expires: timedelta | None, download_name: str | None) -> SignedUrl:
        """Reads the object, with ranges; with a name, the browser saves it under that name."""
        shown = {"ResponseContentDisposition": attachment(download_name)} if download_name is not None else {}
        return await self._sign("get_object", {"Key": object_key(key), **shown}, expires)

    async def part(self, upload: Upload, number: int, size_bytes: int, expires: timedelta | None) -> SignedUrl:
        """Stores this one part of this one upload, of this length: the signature covers it, so the store refuses
        another before it reads a byte."""
        part = {"Key": upload.key, "UploadId": upload.id, "PartNumber": number, "ContentLength": size_bytes}
        return await self._sign("upload_part", part, expires)

    async def _sign(
        self, operation: Literal["get_object", "upload_part"], request: Mapping[str, Any], expires: timedelta | None
    ) -> SignedUrl:
        lifetime = self._lifetime if expires is None else expires
        if not timedelta(seconds=1) <= lifetime <= LONGEST_LIFETIME:
            raise InvalidInput("not a lifetime for a link", field="expires", why="it is from 1 second to 7 days")
        # The signature carries the machine's time in whole seconds, so an injected clock would lie.
        signed_at = SystemClock().now().replace(microsecond=0)
        url = await self._s3.sign(
            lambda client: client.generate_presigned_url(
                operation, Params={"Bucket": self._s3.bucket, **request}, ExpiresIn=int(lifetime.total_seconds())
            ),
            "signed link",
        )
        return SignedUrl(url, signed_at + lifetime)
