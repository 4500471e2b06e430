"""Small good pictures, and some that say they are huge."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator

from PIL import Image

FORMATS = ("PNG", "JPEG", "BMP", "WEBP")
SIZES = (16_384, 65_500)


def good() -> Iterator[tuple[str, bytes]]:
    picture = Image.linear_gradient("L").resize((64, 36)).convert("RGB")
    for name in FORMATS:
        file = io.BytesIO()
        picture.save(file, name)
        yield name, file.getvalue()


def huge() -> Iterator[tuple[str, bytes]]:
    files = dict(good())
    for size in SIZES:
        header = struct.pack(">II", size, size) + files["PNG"][24:29]
        check = struct.pack(">I", zlib.crc32(b"IHDR" + header))
        yield f"PNG {size}", files["PNG"][:16] + header + check + files["PNG"][33:]
        yield f"BMP {size}", files["BMP"][:18] + struct.pack("<ii", size, size) + files["BMP"][26:]
        start = files["JPEG"].index(b"\xff\xc0") + 5
        yield f"JPEG {size}", files["JPEG"][:start] + struct.pack(">HH", size, size) + files["JPEG"][start + 4 :]
