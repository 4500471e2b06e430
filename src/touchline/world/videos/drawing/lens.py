"""How a camera sees: the one piece of geometry that all drawn pictures share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = tuple[float, float, float]  # metres: along, across, up


def lens_matrix(place: Place, aim: Place, focal: float, size: tuple[int, int]) -> NDArray[Any]:
    """From points in metres to pixels; the focal length is in widths of the picture."""
    ahead = _unit(np.array(aim) - np.array(place))
    right = _unit(np.cross(ahead, np.array([0.0, 0.0, 1.0])))
    turn = np.stack([right, np.cross(ahead, right), ahead])
    width, height = size
    lens = np.array([[focal * width, 0, width / 2], [0, focal * width, height / 2], [0, 0, 1]])
    return lens @ np.column_stack([turn, -turn @ np.array(place)])


def _unit(vector: NDArray[Any]) -> NDArray[Any]:
    return vector / np.linalg.norm(vector)
