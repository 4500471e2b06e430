"""A clip to look at: a pitch from above, two teams, a ball and a crowd. Drawn, so that nobody had to film it.

Invariant: a file with the final name is whole; one that was interrupted has another.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import EOFError as EndOfFrames
from av.filter import Graph
from av.filter.context import FilterContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media.child.packets import encode, mux

SECONDS = 12
WIDTH, HEIGHT, RATE = 1280, 720, 30
SOUND_HZ = 48_000

GRASS, MOWN, LINES = "0x2f7d3b", "0x378a44", "white@0.85"
STRIPE = 80
HOME, AWAY, BALL = "0xf2f2f2", "0xd8343c", "0xffe14d"
# x, y, width, height, thickness
MARKINGS = (
    (60, 40, 1160, 640, "4"),
    (638, 40, 4, 640, "fill"),
    (60, 180, 180, 360, "4"),
    (1040, 180, 180, 360, "4"),
    (60, 280, 70, 160, "4"),
    (1150, 280, 70, 160, "4"),
)
# Where a player stands, and how far and fast the game moves them.
PLAYERS = ((180, 360), (330, 190), (330, 530), (500, 290), (500, 450), (610, 360))


def draw_clip(path: Path) -> None:
    """Takes some seconds: not for the event loop."""
    draft = path.with_name(f".{path.name}")
    with av.open(str(draft), "w", format="mp4", container_options={"movflags": "+faststart"}) as output:
        pictures, sound = _picture_stream(output), _sound_stream(output)
        for number, frame in enumerate(_frames(_game())):
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            mux(output, encode(pictures, frame))
        mux(output, encode(pictures, None))
        for frame in _frames(_crowd()):
            mux(output, encode(sound, frame))
        mux(output, encode(sound, None))
    draft.replace(path)


def _picture_stream(output: OutputContainer) -> VideoStream:
    options = {"preset": "ultrafast", "crf": "24", "g": str(2 * RATE)}
    stream = output.add_stream("libx264", rate=RATE, options=options)  # pyright: ignore[reportUnknownMemberType]
    stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    stream.codec_context.time_base = Fraction(1, RATE)
    return stream


def _sound_stream(output: OutputContainer) -> AudioStream:
    return output.add_stream("aac", rate=SOUND_HZ, layout="stereo")  # pyright: ignore[reportUnknownMemberType]


def _game() -> Graph:
    graph = Graph()
    scene = _pitch(graph)
    scene = _over(graph, scene, _ring(graph), "550", "270")
    for number, (x, y) in enumerate(PLAYERS):
        scene = _over(graph, scene, _disc(graph, HOME, 13), *_path(x, y, number))
        scene = _over(graph, scene, _disc(graph, AWAY, 13), *_path(WIDTH - x, HEIGHT - y, number + 3))
    scene = _over(graph, scene, _disc(graph, BALL, 8), "640+520*sin(t*0.9)", "360+230*sin(t*1.7+1)")
    _chain(graph, scene, ("format", "yuv420p"), ("buffersink", ""))
    graph.configure()
    return graph


def _pitch(graph: Graph) -> FilterContext:
    stripes = [f"x={x}:y=0:w={STRIPE}:h={HEIGHT}:color={MOWN}:t=fill" for x in range(0, WIDTH, 2 * STRIPE)]
    lines = [f"x={x}:y={y}:w={w}:h={h}:color={LINES}:t={t}" for x, y, w, h, t in MARKINGS]
    boxes = [("drawbox", box) for box in (*stripes, *lines)]
    still = _still(graph, f"c={GRASS}:s={WIDTH}x{HEIGHT}", *boxes, ("format", "yuv420p"))
    return _chain(graph, still, ("trim", f"duration={SECONDS}"))


def _ring(graph: Graph) -> FilterContext:
    return _shape(graph, "white", 180, "217*between(hypot(X-90,Y-90),86,90)")


def _disc(graph: Graph, colour: str, radius: int) -> FilterContext:
    return _shape(graph, colour, 2 * radius, f"255*lte(hypot(X-{radius},Y-{radius}),{radius - 1})")


def _shape(graph: Graph, colour: str, size: int, alpha: str) -> FilterContext:
    cut_out = ("geq", f"lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='{alpha}'")
    return _still(graph, f"c={colour}:s={size}x{size}", ("format", "yuva420p"), cut_out)


def _still(graph: Graph, colour: str, *filters: tuple[str, str]) -> FilterContext:
    """Drawn once, then shown in every frame."""
    first = graph.add("color", f"{colour}:r={RATE}:d={1 / RATE}")
    return _chain(graph, first, *filters, ("loop", "loop=-1:size=1"), ("setpts", f"N/{RATE}/TB"))


def _path(x: int, y: int, number: int) -> tuple[str, str]:
    pace = 0.5 + 0.13 * number
    return f"{x}-13+95*sin(t*{pace}+{number})", f"{y}-13+60*cos(t*{pace * 1.3}+{2 * number})"


def _over(graph: Graph, below: FilterContext, above: FilterContext, x: str, y: str) -> FilterContext:
    overlay = graph.add("overlay", f"x='{x}':y='{y}':shortest=1")
    below.link_to(overlay, 0, 0)
    above.link_to(overlay, 0, 1)
    return overlay


def _chain(graph: Graph, last: FilterContext, *filters: tuple[str, str]) -> FilterContext:
    for name, arguments in filters:
        added = graph.add(name, arguments or None)
        last.link_to(added)
        last = added
    return last


def _crowd() -> Graph:
    """A murmur that swells and falls."""
    graph = Graph()
    source = graph.add("anoisesrc", f"color=pink:amplitude=0.12:sample_rate={SOUND_HZ}:duration={SECONDS}:seed=90")
    swell = ("tremolo", "f=0.2:d=0.6")
    _chain(graph, source, swell, ("aformat", "sample_fmts=fltp:channel_layouts=stereo"), ("abuffersink", ""))
    graph.configure()
    return graph


def _frames(graph: Graph) -> Iterator[VideoFrame | AudioFrame]:
    while True:
        try:
            yield graph.pull()
        except EndOfFrames:
            return
