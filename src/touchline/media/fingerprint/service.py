"""The fingerprints of a video, taken by a child in one pass over it, however many styles are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from touchline.kernel import InvalidInput, NotFound
from touchline.media.errors import InvalidFingerprint
from touchline.media.model import SurveyOptions
from touchline.media.sandbox import Progress, Sandbox
from touchline.media.survey import surveyed

from .formats import LONGEST_BINARY, LONGEST_PREFIX, LONGEST_TEXT, from_bytes, from_text, is_binary, is_text
from .model import USUAL, Fingerprint, Way
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
    async with surveyed(sandbox, source, SurveyOptions(tuple(styles), fast=fast), progress) as survey:
        return [*survey.fingerprints]


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
