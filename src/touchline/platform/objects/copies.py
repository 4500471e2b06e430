"""Copies inside the bucket: the bytes do not pass through this process.

Invariant: what is copied is the object that was meant, and a copy is there as a whole or not at all.
"""

from __future__ import annotations

from touchline.kernel.errors import AlreadyExists, Conflict

from .keys import ObjectKey
from .model import Attributes
from .s3 import S3

PART_BYTES = 512 * 1024**2  # 10,000 of them are as large as an object may be


async def copy_object(
    s3: S3, names: tuple[ObjectKey, ObjectKey], etag: str, attributes: Attributes, single_limit: int
) -> None:
    """From the first name to the second; larger ones than the limit go in parts."""
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
    except AlreadyExists as error:  # the one condition of this request
        raise Conflict(f"{source} has changed", why="it is not the object that was looked at") from error
