"""The fingerprints of a video, taken by a child in one pass over it, however many styles are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.kernel.errors import Defect, InvalidInput, NotFound
from touchline.media.errors import CrashingVideo
from touchline.media.sandbox import Progress, Sandbox, Task
from touchline.media.settings import child_limits, child_options

from .errors import InvalidFingerprint
from .formats import LONGEST_BINARY, LONGEST_PREFIX, LONGEST_TEXT, from_bytes, from_text, is_binary, is_text
from .model import FINGERPRINT, USUAL, Fingerprint, Taken, Way
from .style import Style

LONGEST_STORED = max(LONGEST_BINARY, LONGEST_TEXT) + 2


async def take_fingerprint(
    sandbox: Sandbox, source: Path | int, progress: Progress | None = None, way: Way = USUAL
) -> Fingerprint:
    """`progress` is told at least at every fifth sample: whoever waits for it can tell slow from stuck."""
    [taken] = await take_fingerprints(sandbox, source, [way.style], progress, fast=way.fast)
    return taken


async def take_fingerprints(
    sandbox: Sandbox,
    source: Path | int,
    styles: Sequence[Style],
    progress: Progress | None = None,
    *,
    fast: bool = False,
) -> list[Fingerprint]:
    """One of each style: the video is decoded once for all of them."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.fingerprint_time)
    options = {"video": asdict(child_options(settings)), "fast": fast, "styles": [*styles]}
    with TemporaryDirectory(prefix="touchline-fingerprint-") as folder:
        task = Task("fingerprint", limits, options, source, Path(folder))
        taken = (await sandbox.run(task, Taken, progress)).result
        return [_read(Path(folder, FINGERPRINT.format(style)), taken, style) for style in styles]


def _read(path: Path, taken: Taken, style: Style) -> Fingerprint:
    """A child that was taken over may have written anything."""
    try:
        with path.open("rb") as file:
            fingerprint = from_bytes(file.read(LONGEST_BINARY + 1))
    except FileNotFoundError as error:
        raise Defect("a child took a fingerprint that is not there") from error
    except InvalidFingerprint as error:
        raise CrashingVideo("this video broke the program that read it", why=error.why) from error
    if (len(fingerprint), fingerprint.style) != (taken.samples, style):
        raise Defect("a child wrote another fingerprint than it says")
    return fingerprint


def read_fingerprint(path: Path) -> Fingerprint | None:
    """A stored one, as text or bytes; none where the file begins like neither and may be a video."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_PREFIX)
            if not is_binary(head) and not is_text(head):
                return None
            content = head + file.read(LONGEST_STORED)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be opened", why=error.strerror or "") from error
    return from_bytes(content) if is_binary(content) else from_text(_decoded(content))


def _decoded(content: bytes) -> str:
    try:
        return content.decode("ascii").rstrip()
    except UnicodeDecodeError as error:
        raise InvalidFingerprint("this is not a fingerprint", why=str(error)) from error
