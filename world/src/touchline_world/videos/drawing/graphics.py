"""What a broadcaster lays over a match: score and clock in its style, the scorer's name, a hashtag, its mark, a wipe.

Invariant: what is reported as text is shown exactly so; what fades or moves is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import default_rng

from touchline_world.videos.model import BugStyle, Look, Take

from .paint import BLACK, WHITE, Bgr, Pixels, Text, bgr, is_light, lay, letters, over, plate, text_size

SCORE_AFTER_MS = 2_600  # from the goal to the new score
CAPTION_AFTER_MS, CAPTION_FOR_MS, FADE_MS = 2_200, 4_500, 240
MARKS = ("ARENA 1", "SPORT+", "EINS LIVE", "CANAL 8", "TV NORD", "KICK TV")
PLATES: tuple[Bgr, ...] = ((92, 40, 22), (34, 28, 26), (70, 20, 84), (96, 70, 10), (30, 30, 120), (60, 84, 20))


@dataclass(frozen=True, slots=True)
class Palette:
    plate: Bgr
    accent: Bgr
    mark: str


def palette_of(look: Look) -> Palette:
    random = default_rng([look.seed, 51])
    accents: tuple[Bgr, ...] = ((60, 200, 250), (235, 235, 235), (190, 220, 40), (80, 90, 235))
    return Palette(
        PLATES[int(random.integers(0, len(PLATES)))],
        accents[int(random.integers(0, len(accents)))],
        str(random.choice(MARKS)),
    )


def is_broadcast(take: Take) -> bool:
    """Without a score bug it is somebody's own camera, and nothing is laid over it."""
    return take.look is not None and take.look.style is not BugStyle.NONE


def clock_text(take: Take, at_ms: int) -> tuple[str, str]:
    """The clock, and the stoppage time beside it if there is any."""
    if take.added_ms:
        return _minutes(take.clock_ms), f"+{_minutes(take.added_ms + at_ms, short=True)}"
    return _minutes(take.clock_ms + at_ms), ""


def score_text(take: Take, at_ms: int) -> str:
    changed = take.goal_ms is not None and at_ms >= take.goal_ms + SCORE_AFTER_MS
    home, away = take.score_after if changed else take.score_before
    return f"{home}-{away}"


def _minutes(value_ms: int, *, short: bool = False) -> str:
    minutes, seconds = divmod(value_ms // 1000, 60)
    return f"{minutes}:{seconds:02d}" if short else f"{minutes:02d}:{seconds:02d}"


def lay_bug(picture: Pixels, take: Take, at_ms: int) -> list[Text]:
    look = take.look
    if look is None or not is_broadcast(take):
        return []
    height, width = picture.shape[:2]
    clock, added = clock_text(take, at_ms)
    drawn, texts = _bug(look, (score_text(take, at_ms), clock, added), height)
    x, y = round(width * 0.045), round(height * 0.06)
    lay(picture, drawn, x, y)
    return [Text(each.text, (each.box[0] + x, each.box[1] + y, each.box[2], each.box[3])) for each in texts]


@lru_cache(maxsize=16)
def _bug(look: Look, said: tuple[str, str, str], height: int) -> tuple[Pixels, tuple[Text, ...]]:
    size = max(10, round(height * 0.042))
    board = _Board(size)
    {BugStyle.BAR: _bar, BugStyle.STACKED: _stacked, BugStyle.PILL: _pill}[look.style](board, look, said)
    return board.picture, tuple(board.texts)


class _Board:
    """Room for plates with letters, with a record of what was written."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.row = round(size * 1.75)
        self.picture = np.zeros((self.row * 3, size * 26, 4), np.uint8)
        self.texts: list[Text] = []

    def put(self, x: int, y: int, colour: Bgr, width: int, radius: int = 0) -> None:
        over(self.picture, plate((width, self.row), colour, radius, 0.97), x, y)

    def write(self, text: str, x: int, y: int, colour: Bgr, size: int | None = None) -> int:
        """In the middle of a row; where it ends."""
        size = size or self.size
        word = letters(text, size, colour, 1 if size > 15 else 0)
        top = y + (self.row - word.shape[0]) // 2
        over(self.picture, word, x, top)
        self.texts.append(Text(text, (x, top, word.shape[1], word.shape[0])))
        return x + word.shape[1]

    def wide(self, text: str) -> int:
        return text_size(text, self.size, 1 if self.size > 15 else 0)[0]


def _bar(board: _Board, look: Look, said: tuple[str, str, str]) -> None:
    """One line: sides and score, then the clock on a plate of its own."""
    colours, pad = palette_of(look), board.size // 2
    line = f"{look.home.code} {said[0]} {look.away.code}"
    wide = board.wide(line) + 4 * pad
    board.put(0, 0, colours.plate, wide)
    for x, side in ((0, look.home), (wide - pad // 2, look.away)):
        board.put(x, 0, bgr(side.shirt), max(3, pad // 2))
    board.write(line, 2 * pad, 0, WHITE)
    clock_wide = board.wide("88:88") + 2 * pad
    board.put(wide, 0, WHITE, clock_wide)
    board.write(said[1], wide + pad, 0, BLACK)
    if said[2]:
        board.put(wide + clock_wide, 0, colours.accent, board.wide("+8:88") + 2 * pad)
        board.write(said[2], wide + clock_wide + pad, 0, BLACK if is_light(colours.accent) else WHITE)


def _stacked(board: _Board, look: Look, said: tuple[str, str, str]) -> None:
    """A row for each side, with the clock below."""
    colours, pad, row = palette_of(look), board.size // 2, board.row
    wide = board.wide("MMM  8") + 5 * pad
    for number, (side, goals) in enumerate(zip((look.home, look.away), said[0].split("-"), strict=True)):
        board.put(0, number * row, WHITE, wide)
        board.put(0, number * row, bgr(side.shirt), pad)
        board.write(side.code, 2 * pad, number * row, BLACK)
        board.put(wide - 3 * pad, number * row, colours.plate, 3 * pad)
        board.write(goals, wide - 2 * pad, number * row, WHITE)
    board.put(0, 2 * row, colours.plate, wide)
    end = board.write(said[1], pad, 2 * row, WHITE)
    if said[2]:
        board.put(wide, 2 * row, colours.accent, board.wide("+8:88") + 2 * pad)
        board.write(said[2], max(wide, end) + pad, 2 * row, BLACK if is_light(colours.accent) else WHITE)


def _pill(board: _Board, look: Look, said: tuple[str, str, str]) -> None:
    """Rounded, the clock first; stoppage time in one word with it."""
    colours, pad, radius = palette_of(look), board.size // 2, board.row // 2
    clock = said[1] + said[2]
    first = board.wide(clock if said[2] else "88:88") + 4 * pad
    line = f"{look.home.code} {said[0]} {look.away.code}"
    board.put(0, 0, colours.plate, first + board.wide(line) + 5 * pad, radius)
    board.put(0, 0, colours.accent, first, radius)
    board.write(clock, 2 * pad, 0, BLACK if is_light(colours.accent) else WHITE)
    board.write(line, first + 2 * pad, 0, WHITE)


def lay_caption(picture: Pixels, take: Take, at_ms: int) -> list[Text]:
    """The scorer, for some seconds after the goal."""
    if not take.caption or take.goal_ms is None or not is_broadcast(take):
        return []
    assert take.look  # noqa: S101 - it is broadcast
    shown_ms = at_ms - take.goal_ms - CAPTION_AFTER_MS
    if not 0 <= shown_ms < CAPTION_FOR_MS:
        return []
    drawn, texts = _caption(take.look, take.caption, take.by_home, picture.shape[0])
    share = min(1.0, shown_ms / FADE_MS, (CAPTION_FOR_MS - shown_ms) / FADE_MS)
    x, y = round(picture.shape[1] * 0.07), round(picture.shape[0] * 0.78)
    if share < 1:
        lay(picture, drawn[:, : max(1, round(drawn.shape[1] * share))], x, y)
        return []
    lay(picture, drawn, x, y)
    return [Text(each.text, (each.box[0] + x, each.box[1] + y, *each.box[2:])) for each in texts]


@lru_cache(maxsize=4)
def _caption(look: Look, caption: str, by_home: bool, height: int) -> tuple[Pixels, tuple[Text, ...]]:
    size, small = max(12, round(height * 0.05)), max(9, round(height * 0.032))
    side, colours = look.home if by_home else look.away, palette_of(look)
    line = side.name
    wide = max(text_size(caption, size, 1)[0], text_size(line, small)[0]) + 3 * size
    drawn = np.zeros((round(size * 2.9), wide, 4), np.uint8)
    over(drawn, plate((wide, drawn.shape[0]), colours.plate, 0, 0.95), 0, 0)
    over(drawn, plate((size // 2, drawn.shape[0]), bgr(side.shirt)), 0, 0)
    texts: list[Text] = []
    for text, letter, y, bold in ((caption, size, round(size * 0.5), 1), (line, small, round(size * 1.85), 0)):
        word = letters(text, letter, WHITE, bold)
        over(drawn, word, round(size * 1.2), y)
        texts.append(Text(text, (round(size * 1.2), y, word.shape[1], word.shape[0])))
    return drawn, tuple(texts)


def lay_marks(picture: Pixels, take: Take) -> list[Text]:
    """The broadcaster's mark, and the hashtag of the match."""
    if take.look is None or not is_broadcast(take):
        return []
    height, width = picture.shape[:2]
    texts = [_lay_word(picture, palette_of(take.look).mark, round(height * 0.034), (width, round(height * 0.065)))]
    if take.hashtag:
        texts.append(_lay_word(picture, take.hashtag, round(height * 0.034), (width, round(height * 0.91))))
    return texts


def _lay_word(picture: Pixels, text: str, size: int, place: tuple[int, int]) -> Text:
    word = letters(text, max(9, size), WHITE, 1 if size > 15 else 0)
    shadow = letters(text, max(9, size), BLACK, 1 if size > 15 else 0)
    x, y = round(place[0] * 0.955) - word.shape[1], place[1]
    lay(picture, shadow, x + 1, y + 1)
    lay(picture, word, x, y)
    return Text(text, (x, y, word.shape[1], word.shape[0]))


def lay_wipe(picture: Pixels, look: Look, share: float) -> None:
    """A slanted band with the mark runs through the picture, from one shot to the next."""
    height, width = picture.shape[:2]
    colours = palette_of(look)
    centre, half, slant = (1.9 * share - 0.45) * width, 0.42 * width, 0.22 * height
    for shrink, colour in ((1.0, colours.accent), (0.88, colours.plate)):
        left, right = centre - half * shrink, centre + half * shrink
        band = np.array([(left + slant, 0), (right + slant, 0), (right - slant, height), (left - slant, height)])
        cv2.fillPoly(picture, [band.astype(np.int32)], colour, cv2.LINE_AA)
    word = letters(colours.mark, round(height * 0.11), WHITE, 1)
    lay(picture, word, round(centre) - word.shape[1] // 2, (height - word.shape[0]) // 2)


def lay_replay_sign(picture: Pixels, look: Look) -> list[Text]:
    height, width = picture.shape[:2]
    size = max(10, round(height * 0.042))
    word = letters("REPLAY", size, WHITE, 1 if size > 15 else 0)
    x, y = round(width * 0.05), round(height * 0.07)
    back = plate((word.shape[1] + 2 * size, round(size * 1.75)), palette_of(look).plate, size // 3, 0.95)
    lay(picture, back, x, y)
    top = y + (back.shape[0] - word.shape[0]) // 2
    lay(picture, word, x + size, top)
    return [Text("REPLAY", (x + size, top, word.shape[1], word.shape[0]))]
