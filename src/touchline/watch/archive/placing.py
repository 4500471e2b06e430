"""Objects on their way from where downloads land to the place that their content names."""

from __future__ import annotations

from touchline.kernel.errors import NotFound, Unavailable
from touchline.platform.objects.store import ObjectStore

from .rules import CONTENT_TYPE


async def bring(objects: ObjectStore, source: str, target: str, size_bytes: int) -> bool:
    """Copies inside the store, once. False when the source is gone, or is not what was downloaded."""
    if await _size(objects, target) == size_bytes:
        return True
    try:
        info = await objects.head(source)
        if info.size_bytes != size_bytes:
            return False
        await objects.copy(source, target, etag=info.etag, content_type=CONTENT_TYPE)
    except NotFound:
        return False
    if await _size(objects, target) != size_bytes:
        raise Unavailable("the copy is not there as a whole", why=target)
    return True


async def _size(objects: ObjectStore, key: str) -> int | None:
    try:
        return (await objects.head(key)).size_bytes
    except NotFound:
        return None
