"""The sound of a take: a crowd that murmurs and roars at the goal, the whistle, squeaks, talk or a jingle.

Invariant: all of it follows from the take; sound and picture have the same length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from .model import Take, TakeKind

SOUND_HZ = 44_100
LOUDEST = 0.85

Sound = NDArray[Any]


def sound_of(take: Take) -> Sound:
    """Two channels, between -1 and 1."""
    random = default_rng([take.seed, 101])
    time = np.arange(take.length_ms * SOUND_HZ // 1000) / SOUND_HZ
    made = {
        TakeKind.GOAL: _match,
        TakeKind.PLAY: _match,
        TakeKind.STUDIO: _talk,
        TakeKind.ADVERT: _jingle,
        TakeKind.OTHER_SPORT: _hall,
    }[take.kind](random, time, take)
    wide = np.stack([made, np.roll(made, 331) * 0.94 + made * 0.06])
    return np.clip(wide, -LOUDEST, LOUDEST).astype(np.float32)


def _match(random: Generator, time: Sound, take: Take) -> Sound:
    crowd = _noise(random, len(time), 700) * 1.3 + _noise(random, len(time), 2600) * 0.35
    level = 0.09 * (1 + 0.35 * np.sin(time * 0.9 + random.uniform(0, 6)))
    if take.goal_ms is not None:
        since = time - take.goal_ms / 1000
        level = level * (1 + np.exp(np.clip(since, -6, 0) * 1.1))
        level = level + 0.5 * (1 - np.exp(-np.clip(since, 0, None) * 5)) * np.exp(-np.clip(since, 0, None) / 7)
        whistle_s = take.goal_ms / 1000 + 1.5
    else:
        whistle_s = float(random.uniform(0.3, 0.8)) * take.length_ms / 1000
    return crowd * level + _whistle(time, whistle_s)


def _whistle(time: Sound, at_s: float) -> Sound:
    since = time - at_s
    heard = ((since > 0) & (since < 0.7)).astype(np.float32)
    trill = np.sin(2 * np.pi * 3050 * time + 2.2 * np.sin(2 * np.pi * 36 * time))
    return 0.1 * heard * trill * np.minimum(1, np.minimum(since, 0.7 - since) * 40)


def _talk(random: Generator, time: Sound, take: Take) -> Sound:
    """Somebody speaks in another room: syllables of a voice."""
    syllable = np.clip(np.sin(2 * np.pi * 2.1 * time + np.sin(time * 1.7) * 2), 0, 1) ** 0.5
    pitch = 125 + 18 * np.sin(2 * np.pi * 0.45 * time) + float(random.uniform(-15, 60))
    phase = 2 * np.pi * np.cumsum(pitch) / SOUND_HZ
    voice = sum(np.sin(phase * part) / part for part in range(1, 9))
    return 0.12 * syllable * voice + 0.01 * _noise(random, len(time), 3000)


def _jingle(random: Generator, time: Sound, take: Take) -> Sound:
    notes = 220 * 2 ** (random.choice([0, 2, 4, 7, 9, 12], 64) / 12)
    beat = (time * 4).astype(int)
    fade = np.exp(-(time * 4 % 1) * 3)
    tone = notes[beat % 64]
    phase = 2 * np.pi * np.cumsum(tone) / SOUND_HZ
    return 0.22 * fade * (np.sin(phase) + 0.4 * np.sin(2 * phase)) + 0.1 * (np.sin(phase / 4))


def _hall(random: Generator, time: Sound, take: Take) -> Sound:
    knock = np.exp(-((time * 1.7) % 1) * 60) * np.sin(2 * np.pi * 190 * time)
    return 0.08 * _noise(random, len(time), 1200) + 0.3 * knock


def _noise(random: Generator, count: int, below_hz: float) -> Sound:
    """Soft noise without high tones, about as loud as a tone of one."""
    white = random.normal(0, 1, count).astype(np.float32)
    tones = np.fft.rfft(white)
    hertz = np.fft.rfftfreq(count, 1 / SOUND_HZ)
    soft = np.fft.irfft(tones / (1 + (hertz / below_hz) ** 2) * (hertz > 60), count)
    return soft / max(1e-6, float(np.std(soft)))
