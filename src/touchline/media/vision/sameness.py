"""Whether two pictures of one place show the same letters.

Invariant: when in doubt they differ. One changed stroke of one small digit is a difference; the noise of a codec,
which has no shape, is none. Pictures are compared pixel by pixel: a digest that forgives would bring old scores back.
"""

from __future__ import annotations

import cv2
import numpy as np

from .areas import Pixels

LEAST, MOST = 6.0, 13.0  # grey levels, over a spot of 3 x 3 pixels
OF_DEVIATION = 0.28  # about a tenth of the contrast, in letters
SPOT = (3, 3)


def differences(before: Pixels, now: Pixels) -> Pixels:
    """Where two grey pictures of one size differ by more than noise."""
    change = cv2.blur(cv2.absdiff(before, now).astype(np.float32), SPOT)
    allowed = min(MOST, max(LEAST, OF_DEVIATION * float(before.std())))
    return change > allowed


def same(before: Pixels, now: Pixels) -> bool:
    return before.shape == now.shape and before.size > 0 and not differences(before, now).any()
