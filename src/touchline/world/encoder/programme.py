"""A whole match that never ends: attack after attack, now and then a goal, with one running clock and score.

Invariant: the same seed shows the same at the same moment, whoever asks and whatever was asked before.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

import numpy as np
from numpy.random import default_rng

from touchline.world.videos.drawing.football import Broadcast
from touchline.world.videos.drawing.paint import Pixels
from touchline.world.videos.model import BugStyle, Colour, Kind, Look, Side, Take
from touchline.world.videos.sound import SOUND_HZ, Sound, sound_of

TAKE_MS = 12_000
GOAL_EVERY = 5  # takes
KITS: tuple[tuple[Colour, Colour], ...] = (
    ((200, 30, 40), (240, 240, 240)),
    ((40, 90, 200), (30, 40, 90)),
    ((245, 245, 245), (20, 20, 20)),
    ((250, 200, 30), (20, 60, 150)),
)
CLUBS = (("Harbour Rovers", "HAR"), ("Valle Azul", "VAZ"), ("Nordby", "NOR"), ("Union Lindau", "LIN"))


class Programme:
    def __init__(self, seed: int, size: tuple[int, int]) -> None:
        self._seed, self._size, self._look = seed, size, _look(seed)
        self._ahead = ThreadPoolExecutor(max_workers=1)
        self._soon = lru_cache(maxsize=2)(self._begun)

    def picture(self, at_ms: int) -> Pixels:
        number, inside = divmod(at_ms, TAKE_MS)
        broadcast, _ = self._soon(number).result()
        if inside > TAKE_MS // 3:
            self._soon(number + 1)  # is ready when it is on: nobody waits for it in the middle of a stream
        return broadcast.picture(inside)[0]

    def sound(self, first: int, count: int) -> Sound:
        """So many samples of both channels."""
        each = TAKE_MS * SOUND_HZ // 1000
        number, inside = divmod(first, each)
        part = self._soon(number).result()[1][:, inside : inside + count]
        if part.shape[1] == count:
            return part
        after = self._soon(number + 1).result()[1]
        return np.concatenate([part, after[:, : count - part.shape[1]]], axis=1)

    def take(self, number: int) -> Take:
        """Which attack this is, and how it stands by then."""
        before, after = self._score(number), self._score(number + 1)
        random = default_rng([self._seed, number, 121])
        is_goal = before != after
        by_home = after[0] > before[0] if is_goal else bool(random.random() < 0.5)
        return Take(
            Kind.GOAL if is_goal else Kind.PLAY,
            int(random.integers(1 << 31)),
            TAKE_MS,
            self._look,
            clock_ms=number * TAKE_MS,
            goal_ms=5_000 if is_goal else None,
            score_before=before,
            score_after=after,
            by_home=by_home,
            hashtag=f"#{self._look.home.code}{self._look.away.code}",
            has_replay=is_goal,
        )

    def _score(self, number: int) -> tuple[int, int]:
        scorers = [default_rng([self._seed, each, 122]).random() < 0.5 for each in range(number // GOAL_EVERY)]
        return sum(scorers), len(scorers) - sum(scorers)

    def _begun(self, number: int) -> Future[tuple[Broadcast, Sound]]:
        return self._ahead.submit(self._prepared, self.take(number))

    def _prepared(self, take: Take) -> tuple[Broadcast, Sound]:
        return Broadcast(take, self._size), sound_of(take)


def _look(seed: int) -> Look:
    random = default_rng([seed, 123])
    kits, clubs = random.permutation(len(KITS)), random.permutation(len(CLUBS))
    home, away = (Side(*CLUBS[int(clubs[each])], *KITS[int(kits[each])]) for each in range(2))
    return Look(home, away, list(BugStyle)[int(random.integers(0, 3))], int(random.integers(1 << 31)))
