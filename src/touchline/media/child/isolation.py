"""The task `isolation`: tries from inside what the sandbox should prevent. What succeeds is not isolated."""

from __future__ import annotations

import os
import resource
import socket
from importlib import import_module
from pathlib import Path
from typing import Any

from touchline.media.model import SandboxIsolation

from .channel import Channel

TIMEOUT_S = 2.0

import_module("encodings.idna")  # sockets want it, and by then it may be out of reach


def check_isolation(options: dict[str, Any], channel: Channel) -> SandboxIsolation:
    """`file` is one that everybody may read, `port` a server on this machine, `user_id` who asks."""
    return SandboxIsolation(
        network=not _reaches(options["port"]),
        files=not _reads(Path(options["file"])),
        processes=os.getpid() == 1,  # the first of its own, which all others end with
        user=os.getuid() != options["user_id"],
        limits=resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY,
    )


def _reaches(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _reads(path: Path) -> bool:
    try:
        path.read_bytes()
    except OSError:
        return False
    return True
