"""Pictures that a request carries or points to, opened as a stranger's: few formats, limited in bytes and pixels."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import re

import httpx
from PIL import Image

from .errors import Refused

MOST_BYTES, MOST_PIXELS = 20 * 1024 * 1024, 40_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
PATIENCE_S = 10

_DATA = re.compile(r"data:image/[a-z.+-]+;base64,", re.ASCII | re.IGNORECASE)


async def open_picture(address: str) -> Image.Image:
    content = await _content(address)
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


async def _content(address: str) -> bytes:
    if match := _DATA.match(address):
        try:
            return base64.b64decode(address[match.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise Refused("Invalid base64 image_url.", code="invalid_base64", param="messages") from None
    if not address.startswith(("http://", "https://")):
        message = f"Invalid image URL: {address[:80]!r}. Expected a valid URL or a base64-encoded data URL."
        raise Refused(message, code="invalid_image_url", param="messages")
    return await _fetched(address)


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
        message = f"Failed to download image from {address[:200]}."
        raise Refused(message, code="invalid_image_url", param="messages") from None
