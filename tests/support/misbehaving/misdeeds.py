"""What a child must not be able to do to the rest of the machine. Options are what each deed needs to know."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.media.child.channel import Channel
from touchline.media.child.failures import Refused
from touchline.media.model import Failure

Options = dict[str, Any]
FOREVER_S = 1000.0


@dataclass(frozen=True)
class Said:
    """A result of its own shape."""

    words: dict[str, Any]


@dataclass(frozen=True)
class Lie:
    what: str


def hang(options: Options, channel: Channel) -> None:
    channel.progress(0.01)
    time.sleep(FOREVER_S)


def multiply(options: Options, channel: Channel) -> None:
    """Children in sessions of their own, which a signal to the group would miss."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER_S)
    hang(options, channel)


def burn(options: Options, channel: Channel) -> None:
    while True:
        pass


def grow(options: Options, channel: Channel) -> None:
    kept = []
    while True:
        kept.append(bytearray(64 * 1024**2))


def crash(options: Options, channel: Channel) -> None:
    ctypes.string_at(0)


def leave(options: Options, channel: Channel) -> None:
    os._exit(options["code"])


def raise_defect(options: Options, channel: Channel) -> None:
    raise ZeroDivisionError("a mistake of ours")


def raise_failure(options: Options, channel: Channel) -> None:
    raise Refused(Failure(options["failure"]), "as asked")


def babble(options: Options, channel: Channel) -> None:
    channel._say({"surprise": True})
    time.sleep(FOREVER_S)


def drone(options: Options, channel: Channel) -> None:
    while True:
        os.write(channel._descriptor, b"x" * 65536)


def flood(options: Options, channel: Channel) -> None:
    while True:
        channel._say({"progress": 1})


def lie(options: Options, channel: Channel) -> Lie:
    return Lie("what nobody asked for")


def overflow(options: Options, channel: Channel) -> None:
    for number in range(1_000_000):
        Path(f"{number}").write_bytes(b"x" * 1024**2)


def link(options: Options, channel: Channel) -> Said:
    Path("index.m3u8").symlink_to(options["target"])
    return Said({})


def fork_bomb(options: Options, channel: Channel) -> Said:
    started = 0
    for _ in range(options["most"]):
        try:
            child = os.fork()
        except BlockingIOError:
            break
        if child == 0:
            signal.pause()
        started += 1
    return Said({"started": started})


def look_around(options: Options, channel: Channel) -> Said:
    """Tries each way out; says which were open."""
    ways: dict[str, Callable[[], object]] = {
        "read": lambda: Path(options["file"]).read_bytes(),
        "list": lambda: os.listdir(options["folder"]),  # noqa: PTH208 - the file is a few lines of system calls
        "write beside": lambda: Path("..", "outside").write_text("x"),
        "write to the system": lambda: Path(sys.prefix, "outside").write_text("x"),
        "connect": lambda: socket.create_connection(("127.0.0.1", options["port"]), timeout=2),
        "listen": lambda: socket.create_server(("0.0.0.0", options["port"] + 1)),  # noqa: S104 - it must not matter
        "signal": lambda: os.kill(options["process"], 0),
        "become root": lambda: os.setuid(0),
        "mount": _mount,
    }
    return Said({"open": [name for name, way in ways.items() if _succeeds(way)]})


def inspect(options: Options, channel: Channel) -> Said:
    return Said(
        {
            "user": os.getuid(),
            "environment": sorted(os.environ),
            "folder": str(Path.cwd()),
            "descriptors": sorted(_open_descriptors()),
        }
    )


def _open_descriptors() -> list[int]:
    return [number for number in range(64) if _succeeds(lambda number=number: os.fstat(number))]


def _mount() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", b"/tmp", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "refused")


def _succeeds(way: Callable[[], object]) -> bool:
    try:
        way()
    except OSError:
        return False
    return True
