"""A picture on a screen that somebody films with a telephone: bezel and room, keystone, the beat of two pixel grids,
glare, bands, another colour, less contrast, a shaking hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from . import football, other_subjects
from .canvas import Bug, Caption, Colour, Pixels, Point, any_bug, any_caption, gradient, put_bug, put_caption, uneven
from .football import (
    LENGTH,
    SceneCamera,
    SceneMatch,
    ScenePlayer,
    any_match,
    any_players,
    any_stand,
    plan_of,
    put_goal,
    put_players,
    see_pitch,
)


def film_screen(random: Generator, picture: Pixels) -> Pixels:
    height, width = picture.shape[:2]
    screen = _glow(random, _grid(random, picture))
    seen = _placed(random, screen, (width, height))
    return _by_hand(random, seen)


def _grid(random: Generator, picture: Pixels) -> Pixels:
    """Two grids of nearly the same pitch beat: waves of light and dark, one phase for each colour."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    work = picture.astype(np.float32)
    for _ in range(int(random.integers(1, 4))):
        turn, pitch = random.uniform(0, np.pi), random.uniform(2.5, 9)
        bend = random.uniform(0, 4e-4) * ((x - width / 2) ** 2 + (y - height / 2) ** 2) / width
        phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn) + bend * 30) / pitch
        strength = random.uniform(0.03, 0.14)
        for channel in range(3):
            work[..., channel] *= 1 + strength * np.sin(phase + channel * random.uniform(0, 2))
    return np.clip(work, 0, 255).astype(np.uint8)


def _glow(random: Generator, screen: Pixels) -> Pixels:
    """Weak blacks, a cast, uneven light, perhaps a lamp and the bands of a rolling shutter."""
    height: int = screen.shape[0]
    width: int = screen.shape[1]
    low, high = random.uniform(8, 45), random.uniform(170, 250)
    work = low + screen.astype(np.float32) * (high - low) / 255
    work *= np.array([random.uniform(0.8, 1.2), random.uniform(0.9, 1.05), random.uniform(0.8, 1.15)])
    work += (uneven(random, (width, height), width // 3) * random.uniform(3, 18))[..., None]
    if random.random() < 0.45:
        lamp = np.zeros((height, width), np.float32)
        centre = int(random.integers(0, width)), int(random.integers(0, height))
        axes = width // int(random.integers(6, 20)), height // int(random.integers(6, 20))
        cv2.ellipse(lamp, centre, axes, 0, 0, 360, 1, -1)
        work += cv2.GaussianBlur(lamp, (0, 0), width / 25)[..., None] * random.uniform(60, 160)
    if random.random() < 0.4:
        wave = np.sin(np.arange(height) * 2 * np.pi / (height * random.uniform(0.15, 0.7)) + random.uniform(0, 6))
        work *= (1 + random.uniform(0.04, 0.14) * wave)[:, None, None]
    return np.clip(work, 0, 255).astype(np.uint8)


def _placed(random: Generator, screen: Pixels, size: Point) -> Pixels:
    """The screen in its room, from a little aside; or so near that it fills the view."""
    width, height = size
    near = random.random() < 0.25
    margin = -0.04 if near else float(random.uniform(0.02, 0.2))
    room = gradient(size, _wall(random), _wall(random))
    room = np.clip(room + uneven(random, size, 50)[..., None] * 10, 0, 255).astype(np.uint8)
    bezel = 0 if near else int(min(size) * random.uniform(0.01, 0.05))
    framed = cv2.copyMakeBorder(screen, bezel, bezel, bezel, bezel, cv2.BORDER_CONSTANT, value=(14, 12, 12))
    turn = random.normal(0, 0.05 if near else 0.035, (4, 2))
    corners = np.array([[margin, margin], [1 - margin, margin], [1 - margin, 1 - margin], [margin, 1 - margin]])
    corners = (corners + turn + random.normal(0, 0.02, (1, 2))) * np.array([width, height])
    tall, wide = framed.shape[:2]
    source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
    view = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    cover = cv2.warpPerspective(np.full((tall, wide), 255, np.uint8), view, size)
    seen = cv2.warpPerspective(framed, view, size, flags=cv2.INTER_LINEAR)
    room[cover > 127] = seen[cover > 127]
    return room


def _wall(random: Generator) -> Colour:
    level = int(random.integers(5, 150))
    blue, green, red = (int(np.clip(level + random.normal(0, 14), 0, 255)) for _ in range(3))
    return blue, green, red


def _by_hand(random: Generator, seen: Pixels) -> Pixels:
    """Out of focus, shaken, and grainy in a dark room."""
    height, width = seen.shape[:2]
    blurred = cv2.GaussianBlur(seen, (0, 0), float(random.uniform(0.3, 1.3)))
    if random.random() < 0.4:
        length = int(random.integers(2, 7))
        kernel = np.zeros((length, length), np.float32)
        cv2.line(kernel, (0, int(random.integers(0, length))), (length - 1, int(random.integers(0, length))), 1, 1)
        blurred = cv2.filter2D(blurred, -1, kernel / kernel.sum())
    grain = random.normal(0, random.uniform(1, 7), (height, width, 3))
    return np.clip(blurred + grain, 0, 255).astype(np.uint8)


SIZES: tuple[Point, ...] = ((640, 360), (854, 480), (1280, 720), (480, 360), (406, 720))
SHARES = (0.4, 0.25, 0.15, 0.1, 0.1)


@dataclass(frozen=True, slots=True)
class Scene:
    picture: Pixels
    kind: str  # the name of the shot
    football: bool
    filmed: bool


def draw_scene(seed: int) -> Scene:
    random = default_rng(seed)
    size = SIZES[int(random.choice(len(SIZES), p=SHARES))]
    is_football, is_filmed = bool(random.random() < 0.5), bool(random.random() < 0.5)
    shot = _choice(random, football.SHOTS if is_football else other_subjects.SHOTS)
    picture = shot(random, size)
    if random.random() < 0.12:
        picture = _letterboxed(random, picture)
    if is_filmed:
        picture = film_screen(random, picture)
    return Scene(_compressed(random, picture), shot.__name__, is_football, is_filmed)


def _choice(random: Generator, shots: Sequence[tuple[football.Shot, float]]) -> football.Shot:
    shares = np.array([share for _, share in shots])
    return shots[int(random.choice(len(shots), p=shares / shares.sum()))][0]


def _letterboxed(random: Generator, picture: Pixels) -> Pixels:
    """Black bars above and below, or at the sides, as re-posted clips have them. They are not a bezel."""
    height, width = picture.shape[:2]
    bar = float(random.uniform(0.06, 0.2))
    inner = (width, int(height * (1 - 2 * bar))) if random.random() < 0.5 else (int(width * (1 - 2 * bar)), height)
    framed = np.zeros_like(picture)
    x, y = (width - inner[0]) // 2, (height - inner[1]) // 2
    framed[y : y + inner[1], x : x + inner[0]] = cv2.resize(picture, inner, interpolation=cv2.INTER_AREA)
    return framed


def _compressed(random: Generator, picture: Pixels) -> Pixels:
    """Scaled down and up again now and then, and always coded."""
    height, width = picture.shape[:2]
    if random.random() < 0.3:
        share = float(random.uniform(0.4, 0.8))
        small = cv2.resize(picture, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        picture = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(25, 95))]
    coded = cv2.imdecode(cv2.imencode(".jpg", picture, quality)[1], cv2.IMREAD_COLOR)
    if coded is None:
        raise ValueError("a picture could not be encoded")
    return coded


CAPTION_EVERY_MS, CAPTION_FOR_MS = 20_000, 5_000
REPLAY_EVERY_MS, REPLAY_FOR_MS = 45_000, 8_000
PAN_PIXELS = 14  # that the stand moves by while the camera turns by a metre


@dataclass(frozen=True, slots=True)
class BroadcastPicture:
    at_ms: int
    picture: Pixels
    texts: tuple[str, ...]  # what the overlays say


@dataclass(frozen=True, slots=True)
class _Place:
    ground: Pixels
    stand: Pixels


def broadcast(
    seed: int, length_ms: int, interval_ms: int, size: Point, opacity: float = 1.0
) -> Iterator[BroadcastPicture]:
    """`opacity`: of the plates under the letters; below 1 the game shines through."""
    random = default_rng(seed)
    match = replace(any_match(random), snow=0.0, light=1.0)
    ground, players = plan_of(random, match), any_players(random, (LENGTH / 2, 34), 18)
    stand = any_stand(random, (size[0] * 2, size[1]))
    bug = replace(any_bug(random, size), opacity=opacity)
    starts_s = int(random.integers(60, 5000))
    caption = any_caption(random, size)
    for at_ms in range(0, length_ms, interval_ms):
        if at_ms % CAPTION_EVERY_MS < interval_ms:
            caption = replace(any_caption(random, size), opacity=opacity)
        picture = _game(random, match, _Place(ground, stand), players, _camera(at_ms, size))
        texts = _overlaid(picture, at_ms, _ticking(bug, starts_s + at_ms // 1000), caption)
        yield BroadcastPicture(at_ms, picture, tuple(texts))
        _move(players, interval_ms / 1000)


def _camera(at_ms: int, size: Point) -> SceneCamera:
    """It follows the ball, and rests now and then."""
    swing = float(np.tanh(1.6 * np.sin(at_ms / 6500)))
    aim = (LENGTH / 2 + 26 * swing, 30 + 4 * float(np.sin(at_ms / 4100)), 0.0)
    return SceneCamera((LENGTH / 2 + 4 * swing, -42.0, 21.0), aim, 1.25, size)


def _game(
    random: Generator, match: SceneMatch, place: _Place, players: list[ScenePlayer], camera: SceneCamera
) -> Pixels:
    width = camera.size[0]
    turned = int(width / 2 + (camera.aim[0] - LENGTH / 2) * PAN_PIXELS)
    stand = place.stand[:, max(0, min(width, turned)) :][:, :width]
    picture = see_pitch(default_rng(5), match, camera, place.ground, stand)  # the boards keep their words
    put_goal(picture, camera)
    put_players(picture, camera, match, players)
    noise = random.normal(0, 2, picture.shape[:2])
    return cv2.add(picture, np.repeat(noise[..., None], 3, axis=2), dtype=cv2.CV_8U)


def _ticking(bug: Bug, second: int) -> Bug:
    return replace(bug, clock=f"{second // 60:02d}:{second % 60:02d}")


def _overlaid(picture: Pixels, at_ms: int, bug: Bug, caption: Caption) -> list[str]:
    is_replay = at_ms % REPLAY_EVERY_MS > REPLAY_EVERY_MS - REPLAY_FOR_MS
    texts = [] if is_replay else put_bug(picture, bug)
    if at_ms % CAPTION_EVERY_MS >= CAPTION_EVERY_MS - CAPTION_FOR_MS:
        texts += put_caption(picture, caption)
    return texts


def _move(players: list[ScenePlayer], seconds: float) -> None:
    for player in players:
        player.x = float(np.clip(player.x + player.speed[0] * seconds, 1, LENGTH - 1))
        player.y = float(np.clip(player.y + player.speed[1] * seconds, 1, 67))
        player.stride = 1.5 - player.stride
