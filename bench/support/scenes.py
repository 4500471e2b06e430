"""Drawn goals: matches with their own ground, crowd and boards, filmed by one moving camera each.

Every picture follows from the seeds of its match and its goal, so that any run draws the same. A goal is a wide shot
that follows the ball to one end, a close shot of the cheering and a replay from nearer; like broadcasts have them.
The hardest to tell apart are in every match: two goals at the same end with nearly the same path of the camera, and two
that a camera filmed without moving at all, from the same place, like penalties. Only the players differ then.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from imageio_ffmpeg import get_ffmpeg_exe
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

SIZE = (480, 270)
RATE = 25
WORLD = (2000, 760)
GROUND = 240  # from here on down there is grass
TEAM = 11
LIKE = {2: 0}  # the camera of this goal goes nearly the way of that one's
NEARLY = 0.15  # of the range that its bends have
STILL = frozenset({1, 3})  # goals before a camera that does not move


@dataclass(frozen=True)
class Goal:
    """One goal of one match. `start_s` black pictures lead in, as many clips have them."""

    match: int
    number: int
    seconds: float = 8.0
    black_s: float = 0.0

    @property
    def name(self) -> str:
        return f"match{self.match}-goal{self.number}"


@dataclass(frozen=True)
class View:
    """What the camera sees: the middle and the width of a part of the world."""

    x: float
    y: float
    width: float


def draw(goal: Goal, path: Path, quality: int = 20) -> Path:
    encode(pictures(goal), path, quality)
    return path


def encode(frames: Iterator[Image.Image], path: Path, quality: int) -> None:
    size = f"{SIZE[0]}x{SIZE[1]}"
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(RATE), "-i", "-")
    codec = ("-c:v", "libx264", "-preset", "superfast", "-crf", str(quality), "-pix_fmt", "yuv420p", "-g", "50")
    command = [get_ffmpeg_exe(), "-loglevel", "error", "-y", *source, *codec, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin
        for frame in frames:
            process.stdin.write(frame.tobytes())
    if process.returncode:
        raise RuntimeError(f"{path.name} was not encoded")


def pictures(goal: Goal) -> Iterator[Image.Image]:
    black = Image.new("RGB", SIZE)
    for _ in range(int(goal.black_s * RATE)):
        yield black
    play = Play(goal)
    for number in range(int(goal.seconds * RATE)):
        yield play.picture(number / RATE)


class Play:
    def __init__(self, goal: Goal) -> None:
        self._world = world(goal.match)
        self._random = np.random.default_rng([goal.match, goal.number, 7])
        self._players = self._random.uniform([200, GROUND + 60], [1800, 720], (2 * TEAM, 2))
        self._pace = self._random.uniform(0.4, 1.6, (2 * TEAM, 2))
        self._phase = self._random.uniform(0, 6.3, (2 * TEAM, 2))
        self._still = goal.number in STILL
        self._side, self._bend = _camera(goal)
        self._length = goal.seconds
        self._colours = colours(goal.match)
        self._cuts = (0.45 + 0.05 * self._bend[0], 0.7 + 0.05 * self._bend[1])

    def picture(self, time: float) -> Image.Image:
        share = time / self._length
        view = self._view(share, time)
        box = _box(view)
        scene = self._world.crop(box).resize(SIZE, Image.Resampling.BILINEAR, reducing_gap=2)
        pencil = ImageDraw.Draw(scene)
        self._draw_players(pencil, box, time)
        if self._cuts[0] <= share < self._cuts[1] and not self._still:
            self._draw_cheering(scene, time)
        return _with_score(scene, share)

    def _view(self, share: float, time: float) -> View:
        bend = self._bend
        end = 1000 + self._side * (560 + 60 * bend[2])
        if self._still:
            return View(end, 470 + 40 * bend[3], 700 + 150 * bend[4])
        if share < self._cuts[0]:
            way = share / self._cuts[0]
            x = 1000 + 300 * bend[3] + (end - 1000 - 300 * bend[3]) * way**1.5 + 60 * np.sin(2 * time + 3 * bend[4])
            return View(x, 430 + 50 * bend[5] * np.sin(time), 900 - 160 * way + 60 * bend[4])
        if share < self._cuts[1]:
            return View(end + 180 * bend[4] + 30 * time, 330 + 70 * bend[0], 420 + 60 * bend[1])
        way = (share - self._cuts[1]) / (1 - self._cuts[1])
        return View(end - self._side * 150 * (1 - way), 480 + 60 * bend[5], 560 + 80 * bend[0] - 100 * way)

    def _draw_players(self, pencil: ImageDraw.ImageDraw, box: tuple[int, int, int, int], time: float) -> None:
        scale = SIZE[0] / (box[2] - box[0])
        places = self._players + np.stack([95, 50] * np.sin(self._pace * time + self._phase))
        for number, (x, y) in enumerate(sorted(places.tolist(), key=lambda place: place[1])):
            height = (0.6 + y / 760) * 46 * scale
            at_x, at_y = (x - box[0]) * scale, (y - box[1]) * scale
            shirt = self._colours[number % 2]
            pencil.ellipse(
                (at_x - height / 2, at_y + height - 3, at_x + height / 2, at_y + height + 3), fill=(30, 70, 35)
            )
            pencil.rectangle((at_x - height / 7, at_y, at_x + height / 7, at_y + height * 0.6), fill=shirt)
            pencil.rectangle(
                (at_x - height / 8, at_y + height * 0.6, at_x + height / 8, at_y + height), fill=(25, 25, 35)
            )
            pencil.ellipse((at_x - height / 9, at_y - height / 4, at_x + height / 9, at_y), fill=(200, 160, 130))

    def _draw_cheering(self, scene: Image.Image, time: float) -> None:
        """Large figures before the blurred ground."""
        scene.paste(scene.filter(ImageFilter.GaussianBlur(5)))
        pencil = ImageDraw.Draw(scene)
        for number in range(3):
            x = 90 + 142 * number + 52 * float(np.sin(self._pace[number, 0] * 2 * time + self._phase[number, 0]))
            y = 82 + 30 * self._bend[number] + 13 * float(np.sin(5 * time + self._phase[number, 1]))
            width = 41 + 10 * self._bend[number + 2]
            pencil.rounded_rectangle((x - width, y + 45, x + width, 300), 22, fill=self._colours[number % 2])
            pencil.ellipse((x - 22, y - 15, x + 22, y + 45), fill=(205, 165, 135))
            pencil.ellipse((x - 22, y - 18, x + 22, y + 8), fill=(50, 35, 25))


def _camera(goal: Goal) -> tuple[int, NDArray[np.float64]]:
    """The end of the ground, and how the camera's path is bent. Cameras that stand still have one place in a match."""
    own = np.random.default_rng([goal.match, goal.number, 9]).uniform(-1, 1, 6)
    model = min(STILL) if goal.number in STILL else LIKE.get(goal.number, goal.number)
    random = np.random.default_rng([goal.match, model, 5])
    side = 1 if random.random() < 0.5 else -1
    bend = random.uniform(-1, 1, 6)
    return side, bend + NEARLY * own if goal.number in LIKE else bend


def _box(view: View) -> tuple[int, int, int, int]:
    height = view.width * SIZE[1] / SIZE[0]
    left = min(max(view.x - view.width / 2, 0), WORLD[0] - view.width)
    top = min(max(view.y - height / 2, 0), WORLD[1] - height)
    return int(left), int(top), int(left + view.width), int(top + height)


def _with_score(scene: Image.Image, share: float) -> Image.Image:
    pencil = ImageDraw.Draw(scene)
    pencil.rectangle((18, 12, 122, 30), fill=(20, 25, 60))
    pencil.text((22, 15), f"ABC 1-0 XYZ  {int(40 + 20 * share)}", fill=(255, 255, 255))
    return scene


def colours(match: int) -> list[tuple[int, int, int]]:
    random = np.random.default_rng([match, 3])
    return [(int(r), int(g), int(b)) for r, g, b in random.integers(20, 255, (2, 3))]


@lru_cache(maxsize=4)
def world(match: int) -> Image.Image:
    """All that stands still: crowd, boards, stripes, lines and goals."""
    random = np.random.default_rng([match, 1])
    crowd = random.integers(30, 150 + int(random.integers(0, 80)), (GROUND // 6, WORLD[0] // 6, 3), dtype=np.uint8)
    blocks = Image.fromarray(random.integers(0, 120, (3, 14, 3), dtype=np.uint8)).resize((WORLD[0], GROUND))
    stand = Image.blend(Image.fromarray(crowd).resize((WORLD[0], GROUND), Image.Resampling.NEAREST), blocks, 0.55)
    scene = Image.new("RGB", WORLD)
    scene.paste(stand, (0, 0))
    pencil = ImageDraw.Draw(scene)
    _draw_boards(pencil, random)
    _draw_grass(pencil, random)
    return _lit(scene, random)


def _lit(scene: Image.Image, random: np.random.Generator) -> Image.Image:
    """Uneven light and turf, the shadow of a roof, and grain."""
    turf = Image.fromarray(random.integers(0, 255, (10, 26), dtype=np.uint8)).resize(WORLD, Image.Resampling.BICUBIC)
    light = np.linspace(0.72 + 0.2 * random.random(), 1.1, WORLD[0])[:: 1 if random.random() < 0.5 else -1]
    edge = GROUND + 60 + 260 * random.random() + np.arange(WORLD[0]) * random.uniform(-0.15, 0.15)
    shadow = np.where(np.arange(WORLD[1])[:, None] < edge, random.uniform(0.6, 0.8), 1.0)
    factor = light * shadow * (0.86 + np.asarray(turf, float) / 255 * 0.28)
    grain = random.normal(0, 5, (WORLD[1], WORLD[0], 1))
    return Image.fromarray(np.clip(np.asarray(scene, float) * factor[:, :, None] + grain, 0, 255).astype(np.uint8))


def _draw_boards(pencil: ImageDraw.ImageDraw, random: np.random.Generator) -> None:
    left = 0
    while left < WORLD[0]:
        width = int(random.integers(90, 240))
        fill = tuple(int(value) for value in random.integers(20, 255, 3))
        pencil.rectangle((left, GROUND - 34, left + width, GROUND), fill=fill)
        pencil.rectangle((left + 20, GROUND - 24, left + width // 2, GROUND - 12), fill=(240, 240, 240))
        left += width


def _draw_grass(pencil: ImageDraw.ImageDraw, random: np.random.Generator) -> None:
    green = int(random.integers(95, 140))
    stripe = int(random.integers(70, 160))
    for number, left in enumerate(range(-300, WORLD[0] + 300, stripe)):
        shade = green + (14 if number % 2 else 0)
        far, near = (
            [_fanned(x, GROUND) for x in (left, left + stripe)],
            [_fanned(x, WORLD[1]) for x in (left + stripe, left)],
        )
        pencil.polygon([*far, *near], fill=(shade // 3, shade, shade // 3 + 12))
    white = (225, 230, 225)
    pencil.rectangle((120, GROUND + 20, 1880, 740), outline=white, width=4)
    pencil.line((1000, GROUND + 20, 1000, 740), fill=white, width=4)
    pencil.ellipse((880, 400, 1120, 580), outline=white, width=4)
    for side in (120, 1880):
        far = 300 if side == 120 else -300
        pencil.rectangle(_sorted_box(side, 330, side + far, 650), outline=white, width=4)
        pencil.rectangle(_sorted_box(side, 420, side + far // 3, 560), outline=white, width=4)
        pencil.rectangle(_sorted_box(side, 400, side - far // 6, 580), outline=(250, 250, 250), width=6)


def _fanned(x: int, y: int) -> tuple[float, int]:
    """Stripes spread towards the camera."""
    return WORLD[0] / 2 + (x - WORLD[0] / 2) * (0.8 + 0.5 * (y - GROUND) / (WORLD[1] - GROUND)), y


def _sorted_box(left: int, top: int, right: int, bottom: int) -> tuple[int, int, int, int]:
    return min(left, right), top, max(left, right), bottom
