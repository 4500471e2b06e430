"""Ordinary footage, picture by picture: a match with a score bug whose clock runs, and captions that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from .canvas import Pixels, Point
from .overlays import Bug, Caption, any_bug, any_caption, put_bug, put_caption
from .pitch import (
    LENGTH,
    Camera,
    Match,
    Player,
    any_match,
    any_players,
    any_stand,
    plan_of,
    put_goal,
    put_players,
    see_pitch,
)

CAPTION_EVERY_MS, CAPTION_FOR_MS = 20_000, 5_000
REPLAY_EVERY_MS, REPLAY_FOR_MS = 45_000, 8_000
PAN_PIXELS = 14  # that the stand moves by while the camera turns by a metre


@dataclass(frozen=True, slots=True)
class Shown:
    at_ms: int
    picture: Pixels
    texts: tuple[str, ...]  # what the overlays say


@dataclass(frozen=True, slots=True)
class _Place:
    ground: Pixels
    stand: Pixels


def broadcast(seed: int, length_ms: int, interval_ms: int, size: Point, opacity: float = 1.0) -> Iterator[Shown]:
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
        yield Shown(at_ms, picture, tuple(texts))
        _move(players, interval_ms / 1000)


def _camera(at_ms: int, size: Point) -> Camera:
    """It follows the ball, and rests now and then."""
    swing = float(np.tanh(1.6 * np.sin(at_ms / 6500)))
    aim = (LENGTH / 2 + 26 * swing, 30 + 4 * float(np.sin(at_ms / 4100)), 0.0)
    return Camera((LENGTH / 2 + 4 * swing, -42.0, 21.0), aim, 1.25, size)


def _game(random: Generator, match: Match, place: _Place, players: list[Player], camera: Camera) -> Pixels:
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


def _move(players: list[Player], seconds: float) -> None:
    for player in players:
        player.x = float(np.clip(player.x + player.speed[0] * seconds, 1, LENGTH - 1))
        player.y = float(np.clip(player.y + player.speed[1] * seconds, 1, 67))
        player.stride = 1.5 - player.stride
