"""What can go wrong with the engines, as errors.

Misconfigured
└── LanguageMissing         final: names the package
LimitExceeded
└── PictureTooLarge
InvalidInput
└── BadPicture              its bytes are not what its size says
Unavailable
├── EngineCrashed           the engine process ended in the middle of a picture, twice
└── DeadlineExceeded
    └── EngineTimedOut
"""

from __future__ import annotations

from touchline.kernel.errors import DeadlineExceeded, InvalidInput, LimitExceeded, Misconfigured, Unavailable


class LanguageMissing(Misconfigured):
    next_step = "Install its package, or choose another language or reader."


class BadPicture(InvalidInput):
    next_step = "Send rows of three bytes for each pixel: blue, green, red."


class PictureTooLarge(LimitExceeded):
    next_step = "Send a smaller picture, or raise `media.largest_picture`."


class EngineCrashed(Unavailable):
    next_step = "Try again; if it happens with this picture only, report it."


class EngineTimedOut(DeadlineExceeded):
    next_step = "Try again when the machine is less busy, or raise `media.picture_time`."
