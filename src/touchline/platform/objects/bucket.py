"""The bucket itself: there, ours, and open to the browsers that hold a signed link.

Invariant: safe to run from any number of machines at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from touchline.kernel.errors import Conflict, Defect, Misconfigured, NotFound

from .model import Bucket
from .s3 import S3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CORSRuleTypeDef

_HOME_REGION = "us-east-1"  # the one region that must not be named when a bucket is created
_MAX_AGE_SECONDS = 3600


async def ensure_bucket(s3: S3, origins: Sequence[str]) -> Bucket:
    if not await _is_there(s3):
        await _create(s3)
    return Bucket(browser_ready=await _admit_browsers(s3, origins))


async def _is_there(s3: S3) -> bool:
    try:
        await s3.call(lambda client: client.head_bucket(Bucket=s3.bucket), f"bucket {s3.bucket}")
    except NotFound:
        return False
    return True


async def _create(s3: S3) -> None:
    def create(client: S3Client) -> None:
        if s3.region == _HOME_REGION:
            client.create_bucket(Bucket=s3.bucket)
        else:
            place = client.meta.region_name
            client.create_bucket(Bucket=s3.bucket, CreateBucketConfiguration={"LocationConstraint": place})  # pyright: ignore[reportArgumentType]

    try:
        await s3.call(create, f"bucket {s3.bucket}")
    except Conflict:
        # Another machine was quicker, or the name is someone else's: then this answers with a refusal.
        await s3.call(lambda client: client.head_bucket(Bucket=s3.bucket), f"bucket {s3.bucket}")


async def _admit_browsers(s3: S3, origins: Sequence[str]) -> bool:
    """Pages may send parts and must see their ETag. Not every service, nor every key, allows to set this."""
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
            f"rule for browsers of bucket {s3.bucket}",
        )
    except (Defect, Misconfigured):
        return False
    return True
