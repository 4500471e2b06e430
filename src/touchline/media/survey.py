"""One decoding of a video for everything that is wanted of it: its fingerprints, and pictures of some moments."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.kernel import Defect
from touchline.media.fingerprint.formats import LONGEST_BINARY, from_bytes
from touchline.media.fingerprint.model import FINGERPRINT, Fingerprint
from touchline.media.fingerprint.style import Style

from .errors import CrashingVideo, InvalidFingerprint
from .model import PICTURE, Surveyed, SurveyOptions
from .sandbox import Progress, Sandbox, Task
from .settings import child_limits, child_options


@dataclass(frozen=True, slots=True)
class Still:
    """A picture of a video: a JPEG that the sandbox made."""

    path: Path
    at_ms: int  # the media time


@dataclass(frozen=True, slots=True)
class Survey:
    fingerprints: Sequence[Fingerprint]  # one for each style, in the order in which they were asked for
    stills: Sequence[Still]  # in the order of time; one may stand for several moments


@asynccontextmanager
async def surveyed(
    sandbox: Sandbox, source: Path | int, wanted: SurveyOptions, progress: Progress | None = None
) -> AsyncGenerator[Survey]:
    """Its pictures are there as long as the block runs: the first ones that are shown at the moments or later, and the
    last one for moments that no picture follows. `progress` is told at least at every fifth sample of a fingerprint:
    whoever waits for it can tell slow from stuck."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.fingerprint_time)
    options = {"video": asdict(child_options(settings)), "survey": asdict(wanted)}
    with TemporaryDirectory(prefix="touchline-survey-") as name:
        folder = Path(name)
        said = (await sandbox.run(Task("survey", limits, options, source, folder), Surveyed, progress)).result
        if wanted.moments_ms and not said.pictures_ms:
            raise Defect("a frame is missing from the output")
        fingerprints = [_read(folder / FINGERPRINT.format(style), said.samples, style) for style in wanted.styles]
        yield Survey(fingerprints, [_still(folder, at_ms) for at_ms in said.pictures_ms])


def _read(path: Path, samples: int, style: Style) -> Fingerprint:
    """A child that was taken over may have written anything."""
    try:
        with path.open("rb") as file:
            fingerprint = from_bytes(file.read(LONGEST_BINARY + 1))
    except FileNotFoundError as error:
        raise Defect("the fingerprint is missing from the output") from error
    except InvalidFingerprint as error:
        raise CrashingVideo("the program that read this video crashed", why=error.why) from error
    if (len(fingerprint), fingerprint.style) != (samples, style):
        raise Defect("the fingerprint does not match the result")
    return fingerprint


def _still(folder: Path, at_ms: int) -> Still:
    path = folder / PICTURE.format(at_ms)
    if not path.is_file():
        raise Defect("a frame is missing from the output")
    return Still(path, at_ms)
