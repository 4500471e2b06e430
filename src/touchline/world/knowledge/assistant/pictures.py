"""Pictures that a request carries or points to, opened as a stranger's: few formats, limited in bytes and pixels.

Invariant: only this server itself is asked for pictures, whatever a request names.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import re
from urllib.parse import urlsplit

import httpx
from PIL import Image

from .errors import Refused

MOST_BYTES, MOST_PIXELS = 20 * 1024 * 1024, 40_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
PATIENCE_S = 10
OWN_HOSTS = ("127.0.0.1", "localhost")

_DATA = re.compile(r"data:image/[a-z.+-]+;base64,", re.ASCII | re.IGNORECASE)


async def open_picture(address: str, port: int) -> Image.Image:
    """`port`: at which this server answers."""
    content = await _content(address, port)
    try:
        return await asyncio.to_thread(_decoded, content)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        message = "You uploaded an unsupported image. Please make sure your image is valid."
        raise Refused(message, code="invalid_image_format", param="messages") from None


def _decoded(content: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(content), formats=FORMATS)
    if picture.width * picture.height > MOST_PIXELS:
        raise ValueError("too many pixels")
    return picture.convert("RGB")


async def _content(address: str, port: int) -> bytes:
    if match := _DATA.match(address):
        try:
            return base64.b64decode(address[match.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise Refused("Invalid base64 image_url.", code="invalid_base64", param="messages") from None
    if not address.startswith(("http://", "https://")):
        message = f"Invalid image URL: {address[:80]!r}. Expected a valid URL or a base64-encoded data URL."
        raise Refused(message, code="invalid_image_url", param="messages")
    if not _is_own(address, port):
        raise _unreachable(address)
    return await _fetched(address)


def _is_own(address: str, port: int) -> bool:
    try:
        parts = urlsplit(address)
        where = parts.scheme, parts.hostname, parts.port
    except ValueError:
        return False
    return where in [("http", host, port) for host in OWN_HOSTS]


def _unreachable(address: str) -> Refused:
    return Refused(f"Failed to download image from {address[:200]}.", code="invalid_image_url", param="messages")


async def _fetched(address: str) -> bytes:
    try:
        async with httpx.AsyncClient(timeout=PATIENCE_S) as client, client.stream("GET", address) as answer:
            answer.raise_for_status()
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise Refused("The image is too large.", code="image_too_large", param="messages")
            return bytes(content)
    except (httpx.HTTPError, httpx.InvalidURL):
        raise _unreachable(address) from None
