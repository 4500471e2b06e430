"""What a child does: a function of its options that may speak meanwhile, and ends with a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .channel import Channel

Function: TypeAlias = Callable[[dict[str, Any], Channel], Any]
