"""Objects by S3: immutable puts, streams, signed links and uploads in parts."""

from .keys import ObjectKey, join_key, object_key
from .model import (
    Bucket,
    ByteRange,
    Deleted,
    ListedObject,
    ObjectInfo,
    OpenUpload,
    Page,
    Part,
    PartPlan,
    PartsCheck,
    SignedUrl,
    Upload,
    UploadPage,
)
from .rules import part_plan
from .settings import ObjectsSettings
from .store import ObjectStore
from .uploads import Uploads

__all__ = [
    "Bucket",
    "ByteRange",
    "Deleted",
    "ListedObject",
    "ObjectInfo",
    "ObjectKey",
    "ObjectStore",
    "ObjectsSettings",
    "OpenUpload",
    "Page",
    "Part",
    "PartPlan",
    "PartsCheck",
    "SignedUrl",
    "Upload",
    "UploadPage",
    "Uploads",
    "join_key",
    "object_key",
    "part_plan",
]
