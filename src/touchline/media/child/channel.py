"""What a child says to its parent: JSON lines on the descriptor that was its standard output.

Invariant: nothing else can write there, whatever a library prints.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from touchline.media.model import Failure


class Channel:
    def __init__(self) -> None:
        self._descriptor = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._percent = -1

    def started(self) -> None:
        self._say({"started": True})

    def progress(self, share: float) -> None:
        """The share of the work that is done, by media time. At most a hundred lines, and never backwards."""
        percent = max(0, min(100, int(share * 100)))
        if percent > self._percent:
            self._percent = percent
            self._say({"progress": percent})

    def result(self, document: dict[str, Any]) -> None:
        self._say({"result": document})

    def failure(self, failure: Failure, why: str) -> None:
        self._say({"failure": failure, "why": why})

    def _say(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
