"""Videos for the tests, made with the real encoders: each once, when a test asks for it, and kept for later runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import av
import imageio_ffmpeg
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import EOFError as EndOfFrames
from av.filter import Graph
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

SAMPLE_RATE = 48_000
KEPT = Path(__file__).parents[2] / ".cache" / "videos"


@dataclass(frozen=True)
class Recipe:
    """What to make; the ending of the name chooses the container."""

    name: str
    seconds: float = 6.0
    size: tuple[int, int] = (320, 180)
    rate: int = 25
    video: str | None = "libx264"
    audio: str | None = "aac"
    pixels: str = "yuv420p"
    filters: tuple[tuple[str, str], ...] = ()
    encoder: Mapping[str, str] = field(default_factory=lambda: {"preset": "veryfast", "g": "50"})
    muxer: Mapping[str, str] = field(default_factory=dict)
    rotation: int = 0  # counter-clockwise, as the display matrix has it
    sample_aspect: Fraction | None = None

    @property
    def frames(self) -> int:
        return round(self.seconds * self.rate)


MP4 = Recipe("h264.mp4")
FAST_START = replace(MP4, name="fast-start.mp4", muxer={"movflags": "+faststart"})
FRAGMENTED = replace(MP4, name="fragmented.mp4", muxer={"movflags": "+frag_keyframe+empty_moov"})
LIVE_PIECES = replace(FRAGMENTED, name="pieces.mp4", muxer={"movflags": "+frag_keyframe+empty_moov+skip_trailer"})
SILENT = replace(MP4, name="silent.mp4", audio=None)
QUICKTIME = replace(MP4, name="h264.mov")
MANY_SEGMENTS = replace(MP4, name="many.mp4", seconds=30, size=(64, 36), encoder={"preset": "veryfast", "g": "75"})
MATROSKA = replace(MP4, name="h264.mkv")
LIVE = replace(MP4, name="live.mkv", muxer={"live": "1"})  # recorded as it came: no duration, no sizes
TRANSPORT_STREAM = replace(MP4, name="h264.ts")
FLASH = replace(MP4, name="h264.flv")
ROTATED = replace(MP4, name="rotated.mp4", rotation=-90)
ANAMORPHIC = replace(MP4, name="anamorphic.mp4", size=(240, 180), sample_aspect=Fraction(4, 3))
UNEVEN = replace(MP4, name="uneven.mp4", filters=(("select", "not(between(mod(n\\,10)\\,3\\,5))"),))
TEN_BIT = replace(MP4, name="ten-bit.mp4", pixels="yuv420p10le")
LATE = replace(MP4, name="late.mkv", audio=None, filters=(("setpts", "PTS+5/TB"),))
LATE_STREAM = replace(LATE, name="late.ts")
UNEVEN_MATROSKA = replace(UNEVEN, name="uneven.mkv", audio=None)
UNEVEN_STREAM = replace(UNEVEN, name="uneven.ts", audio=None)
FIELDS = (("separatefields", ""), ("select", "eq(mod(n\\,4)\\,0)+eq(mod(n\\,4)\\,3)"), ("weave", ""))
INTERLACED = replace(  # every other line shows a later moment, as a camera of a broadcaster takes them
    MP4,
    name="interlaced.mp4",
    rate=50,
    audio=None,
    filters=FIELDS,
    encoder={"preset": "veryfast", "g": "50", "flags": "+ildct+ilme", "x264-params": "tff=1"},
)
INTERLACED_MPEG2 = replace(
    INTERLACED, name="interlaced.ts", video="mpeg2video", encoder={"flags": "+ildct+ilme", "b": "2000000"}
)
BROAD = {"color_primaries": "bt2020", "colorspace": "bt2020nc", "color_range": "tv", **MP4.encoder}
HDR = replace(TEN_BIT, name="pq.mp4", audio=None, seconds=2.0, encoder={**BROAD, "color_trc": "smpte2084"})
HDR_BROADCAST = replace(HDR, name="hlg.mkv", encoder={**BROAD, "color_trc": "arib-std-b67"})
MP3_SOUND = replace(MP4, name="mp3.mkv", audio="libmp3lame")
ONE_KEYFRAME = replace(
    MP4, name="one-keyframe.mp4", seconds=24, size=(160, 90), encoder={"preset": "ultrafast", "g": "9999"}
)
WEBM = Recipe("vp9.webm", video="libvpx-vp9", audio="libopus", encoder={"deadline": "realtime", "cpu-used": "8"})
AVI = Recipe("mpeg4.avi", video="mpeg4", audio="libmp3lame", encoder={})
AVI_H264 = replace(MP4, name="h264.avi")
LARGE_ROTATED = replace(AVI, name="large-rotated.mp4", size=(2560, 1440), seconds=0.4, audio="aac", rotation=-90)
LADDER = replace(AVI, name="ladder.mkv", size=(1280, 720), rate=5, seconds=9)
SOUND_ONLY = Recipe("sound.mp4", video=None)
SMALL = Recipe("small.mp4", seconds=1, size=(64, 36))


class Studio:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, recipe: Recipe) -> Path:
        """Once. Recipes may have the same name: each has a folder of its own."""
        path = self.folder / _digest(repr(recipe).encode()) / recipe.name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            draft = path.with_name(f"draft-{recipe.name}")
            shutil.copyfile(_kept(recipe), draft)
            draft.replace(path)
        return path

    def cut(self, recipe: Recipe, share: float) -> Path:
        """Only its beginning."""
        whole = self.make(recipe)
        path = whole.with_name(f"{share:g}-of-{recipe.name}")
        path.write_bytes(whole.read_bytes()[: int(whole.stat().st_size * share)])
        return path

    def trimmed(self, recipe: Recipe, start_s: float) -> Path:
        """As telephones cut: nothing is encoded again, an edit list hides what comes before."""
        whole = self.make(recipe)
        path = whole.with_name(f"from-{start_s:g}-{recipe.name}")
        cut = ["-ss", str(start_s), "-i", str(whole), "-c", "copy", str(path)]
        subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", *cut], check=True)
        return path

    def sounds(self, recipe: Recipe, count: int) -> Path:
        """Its pictures once, its sound so many times."""
        whole = self.make(replace(recipe, name=f"{recipe.name}.mkv"))
        path = self.folder / f"{count}-{recipe.name}"
        maps = [option for _ in range(count) for option in ("-map", "0:a")]
        command = ["-i", str(whole), "-map", "0:v", *maps, "-c", "copy", str(path)]
        subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", *command], check=True)
        return path

    def write(self, name: str, content: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


def _kept(recipe: Recipe) -> Path:
    """Made by this code and these encoders: in this run, by another process of it, or in an earlier one."""
    path = KEPT / _makers() / _digest(repr(recipe).encode()) / recipe.name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{token_hex(6)}-{recipe.name}")
        make_video(draft, recipe)
        draft.replace(path)
    return path


@cache
def _makers() -> str:
    return _digest(Path(__file__).read_bytes() + repr((av.__version__, av.library_versions)).encode())


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


def make_video(path: Path, recipe: Recipe) -> None:
    with av.open(str(path), "w", container_options=dict(recipe.muxer)) as output:
        picture_stream = _add_pictures(output, recipe) if recipe.video else None
        sound_stream = output.add_stream(recipe.audio, rate=SAMPLE_RATE, layout="stereo") if recipe.audio else None
        for frame in _in_order(recipe):
            if isinstance(frame, VideoFrame) and picture_stream:
                frame.pict_type = PictureType.NONE
                output.mux(picture_stream.encode(frame))
            elif isinstance(frame, AudioFrame) and isinstance(sound_stream, AudioStream):
                output.mux(sound_stream.encode(frame))
        for stream in (picture_stream, sound_stream):
            if isinstance(stream, VideoStream | AudioStream):
                output.mux(stream.encode(None))


def _add_pictures(output: OutputContainer, recipe: Recipe) -> VideoStream:
    stream = output.add_stream(recipe.video or "", rate=recipe.rate, options=dict(recipe.encoder))
    assert isinstance(stream, VideoStream)
    stream.width, stream.height = recipe.size
    stream.pix_fmt = recipe.pixels
    stream.codec_context.time_base = Fraction(1, recipe.rate)
    if recipe.rotation:
        stream.set_display_rotation(recipe.rotation)
    if recipe.sample_aspect:
        stream.codec_context.sample_aspect_ratio = recipe.sample_aspect
    return stream


def _in_order(recipe: Recipe) -> Iterator[VideoFrame | AudioFrame]:
    """Pictures and sound as they are recorded: by their time."""
    sources = [_pictures(recipe)] if recipe.video else []
    sources += [_sound(recipe)] if recipe.audio else []
    waiting = {source: frame for source in sources if (frame := next(source, None))}
    while waiting:
        source = min(waiting, key=lambda each: waiting[each].time or 0.0)
        yield waiting.pop(source)
        if frame := next(source, None):
            waiting[source] = frame


def _pictures(recipe: Recipe) -> Iterator[VideoFrame | AudioFrame]:
    width, height = recipe.size
    source = ("testsrc2", f"size={width}x{height}:rate={recipe.rate}:duration={recipe.seconds}")
    return _frames(source, *recipe.filters, ("format", recipe.pixels), ("buffersink", ""))


def _sound(recipe: Recipe) -> Iterator[VideoFrame | AudioFrame]:
    source = ("sine", f"frequency=440:sample_rate={SAMPLE_RATE}:duration={recipe.seconds}")
    return _frames(source, ("abuffersink", ""))


def _frames(*filters: tuple[str, str]) -> Iterator[VideoFrame | AudioFrame]:
    graph = Graph()
    graph.link_nodes(*(graph.add(name, arguments or None) for name, arguments in filters)).configure()
    while True:
        try:
            yield graph.pull()
        except EndOfFrames:
            return
