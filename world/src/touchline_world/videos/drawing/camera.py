"""How a camera sees: the one piece of geometry that all drawn pictures share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from .paint import Pixels

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


NEAR = 0.5  # metres before the lens


@dataclass(frozen=True, eq=False)
class Plane:
    """Four points: left upper, right upper, right lower and left lower, as seen from the front."""

    corners: Pixels

    @cached_property
    def points(self) -> list[list[float]]:
        return self.corners.tolist()

    @cached_property
    def halves(self) -> tuple[Plane, Plane]:
        """The left one and the right one."""
        a, b, c, d = self.corners
        top, bottom = (a + b) / 2, (c + d) / 2
        return Plane(np.array([a, top, bottom, d])), Plane(np.array([top, b, c, bottom]))

    @cached_property
    def normal(self) -> Pixels:
        return np.cross(self.corners[1] - self.corners[0], self.corners[3] - self.corners[0])

    def unfolded(self, width: int, height: int) -> Pixels:
        """From pixels of a texture to points of space, both homogeneous."""
        return self._unfolded @ np.diag([1 / width, 1 / height, 1])

    @cached_property
    def _unfolded(self) -> Pixels:
        """For a texture of one by one. Trapezia are stretched as in perspective."""
        origin, along, across = self.corners[0], self.corners[1] - self.corners[0], self.corners[3] - self.corners[0]
        frame: Pixels = np.linalg.pinv(np.stack([along, across], axis=1))
        inner = (self.corners - origin) @ frame.T
        flat = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
        to_plane = cv2.getPerspectiveTransform(flat, inner.astype(np.float32))
        to_space = np.zeros((4, 3))
        to_space[:3, 0], to_space[:3, 1], to_space[:3, 2], to_space[3, 2] = along, across, origin, 1
        return to_space @ to_plane


@dataclass(frozen=True)
class Camera:
    place: tuple[float, float, float]
    aim: tuple[float, float, float]
    focal: float  # in widths of the picture
    size: tuple[int, int]

    @cached_property
    def matrix(self) -> Pixels:
        """From points in metres to pixels."""
        return lens_matrix(self.place, self.aim, self.focal, self.size)

    @property
    def horizon(self) -> int:
        """The row of what is as high as the lens and far away; cameras are held level."""
        ahead = np.array(self.aim) - np.array(self.place)
        rise = float(ahead[2]) / float(np.hypot(ahead[0], ahead[1]))
        return round(self.size[1] / 2 + rise * self.focal * self.size[0])

    def pixels(self, points: Pixels) -> tuple[Pixels, Pixels]:
        """Where points (n, 3) are seen, and how many metres ahead of the lens they are."""
        seen = points @ self.matrix[:, :3].T + self.matrix[:, 3]
        depth = seen[:, 2]
        return seen[:, :2] / np.where(np.abs(depth) < 1e-6, 1e-6, depth)[:, None], depth

    def scaled(self, share: float) -> Camera:
        width, height = self.size
        return Camera(self.place, self.aim, self.focal, (round(width * share), round(height * share)))

    def lay_pieces(self, picture: Pixels, texture: Pixels, plane: Plane, splits: int = 3) -> None:
        """A texture on a plane that may reach behind the lens, where it would be seen upside down.

        Such a plane is halved so often, and only the pieces before the lens are shown.
        """
        behind = sum(depth <= NEAR for depth in self._depths(plane))
        if not behind:
            self.lay(picture, texture, plane)
        elif behind < len(plane.points) and splits:
            middle = texture.shape[1] // 2
            for half, part in zip(plane.halves, (texture[:, :middle], texture[:, middle:]), strict=True):
                self.lay_pieces(picture, part, half, splits - 1)

    def lay(self, picture: Pixels, texture: Pixels, plane: Plane) -> None:
        """A texture on a plane, as far as it is seen."""
        window = self._window(plane)
        if window is None:
            return
        x, y, to_x, to_y = window
        view = self.matrix @ plane.unfolded(texture.shape[1], texture.shape[0])
        view[0] -= x * view[2]
        view[1] -= y * view[2]
        part = picture[y:to_y, x:to_x]
        cv2.warpPerspective(
            texture, view, (to_x - x, to_y - y), part, cv2.INTER_LINEAR, borderMode=cv2.BORDER_TRANSPARENT
        )

    def sees_front(self, plane: Plane) -> bool:
        return float(plane.normal @ (np.array(self.place) - plane.corners[0])) < 0

    def _window(self, plane: Plane) -> tuple[int, int, int, int] | None:
        """What of the picture a plane may cover. In plain numbers: for four points arrays are slow."""
        before = self._clipped(plane)
        if len(before) < 3:
            return None
        width, height = self.size
        across, down = [x / depth for x, _, depth in before], [y / depth for _, y, depth in before]
        x, y = max(0, floor(min(across))), max(0, floor(min(down)))
        to_x, to_y = min(width, ceil(max(across))), min(height, ceil(max(down)))
        return (x, y, to_x, to_y) if to_x - x > 1 and to_y - y > 1 else None

    def _depths(self, plane: Plane) -> list[float]:
        a, b, c, d = self.matrix[2].tolist()
        return [a * x + b * y + c * z + d for x, y, z in plane.points]

    def _clipped(self, plane: Plane) -> list[tuple[float, float, float]]:
        """Its corners as pixels times depth, as far as they are before the lens."""
        rows: list[list[float]] = self.matrix.tolist()
        seen: list[list[float]] = [
            [row[0] * x + row[1] * y + row[2] * z + row[3] for row in rows] for x, y, z in plane.points
        ]
        kept: list[tuple[float, float, float]] = []
        for one, other in zip(seen, seen[1:] + seen[:1], strict=True):
            if one[2] > NEAR:
                kept.append((one[0], one[1], one[2]))
            if (one[2] > NEAR) != (other[2] > NEAR):
                share = (one[2] - NEAR) / (one[2] - other[2])
                x, y, depth = (a + share * (b - a) for a, b in zip(one, other, strict=True))
                kept.append((x, y, depth))
        return kept
