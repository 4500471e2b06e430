"""Picture files, decoded to plain pixels behind the walls."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from touchline.media.engines.model import Picture
from touchline.media.errors import DamagedVideo, NotAVideo
from touchline.media.rules import SampledPicture
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import decode_picture, decode_samples

ORIENTATION = 0x0112
TURNED_LEFT = 6  # as a phone stores it that was held upright


def half_red(size: tuple[int, int] = (40, 30)) -> Image.Image:
    """Red above, blue below."""
    picture = Image.new("RGB", size, (0, 0, 255))
    picture.paste((255, 0, 0), (0, 0, size[0], size[1] // 2))
    return picture


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def colours(picture: Picture) -> tuple[str, str]:
    """Of the upper and of the lower half."""
    pixels = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)
    half = picture.height // 2
    upper, lower = pixels[: half - 2].mean(axis=(0, 1)), pixels[half + 2 :].mean(axis=(0, 1))
    names = ("blue", "green", "red")
    return names[int(upper.argmax())], names[int(lower.argmax())]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
async def test_pictures_of_all_kinds(kind: str, sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(encoded(half_red(), kind))
    picture = await decode_picture(sandbox, path)
    assert (picture.width, picture.height, colours(picture)) == (40, 30, ("red", "blue"))


async def test_a_turned_photograph_stands_upright_and_what_is_behind_it_is_left_out(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    note = Image.Exif()
    note[ORIENTATION] = TURNED_LEFT
    stored = half_red((30, 40)).transpose(Image.Transpose.ROTATE_90)
    path = tmp_path / "photograph.jpg"
    path.write_bytes(encoded(stored, "JPEG", exif=note) + encoded(half_red((8, 8)), "JPEG"))
    picture = await decode_picture(sandbox, path)
    assert (picture.width, picture.height, colours(picture)) == (30, 40, ("red", "blue"))


async def test_samples_come_in_their_order_however_many_fit_at_a_time(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchline.media.tasks.MOST_BYTES", 2 * 32 * 16 * 3)
    samples: list[SampledPicture] = []
    for level in range(0, 250, 50):
        content = encoded(Image.new("RGB", (32, 16), (level, level, level)), "JPEG")
        (tmp_path / f"{level}.jpg").write_bytes(content)
        samples.append(SampledPicture(f"{level}.jpg", level, len(content)))
    found = [picture async for picture in decode_samples(sandbox, tmp_path, samples, (32, 16))]
    assert [round(picture.pixels[0] / 50) * 50 for picture in found] == [sample.time_ms for sample in samples]
    assert [picture.at_ms for picture in found] == [sample.time_ms for sample in samples]


def huge() -> bytes:
    """A small file that claims to be a picture of 60 000 x 60 000."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    parts = [header, b"IDAT" + zlib.compress(bytes(1000)), b"IEND"]
    chunks = [struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"#EXTM3U\nfile:///etc/passwd\n", NotAVideo),
        (b"RIFF\x10\0\0\0AVI LIST", NotAVideo),
        (b"\xff\xd8\xff" + bytes(100), DamagedVideo),
        (b"\x89PNG\r\n\x1a\n", DamagedVideo),
        (huge(), DamagedVideo),
    ],
    ids=["a playlist", "a video", "no more than a JPEG's first bytes", "no more than a PNG's", "a bomb"],
)
async def test_what_is_no_picture(content: bytes, error: type[Exception], sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(content)
    with pytest.raises(error):
        await decode_picture(sandbox, path)
