"""Drawn pictures of what a camera may see: football, what is not football, and screens that somebody filmed.

Invariant: the same number gives the same picture; nothing is read from disk and nobody had to film it.
"""

from .catalogue import Scene, draw_scene
from .footage import Shown, broadcast

__all__ = ["Scene", "Shown", "broadcast", "draw_scene"]
