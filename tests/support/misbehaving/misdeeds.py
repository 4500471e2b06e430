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
from functools import wraps
from pathlib import Path
from typing import Any

from touchline.media.child import system
from touchline.media.child.channel import Channel, InputRefused
from touchline.media.model import MediaFailure

Options = dict[str, Any]
FOREVER_S = 1000.0


@dataclass(frozen=True)
class Said:
    """A result of its own shape."""

    words: dict[str, Any]


@dataclass(frozen=True)
class Lie:
    what: str


def marked(deed: Callable[[Options, Channel], object]) -> Callable[[Options, Channel], object]:
    """So that the test can tell whose processes are left."""

    @wraps(deed)
    def marking(options: Options, channel: Channel) -> object:
        system.name_process(options.get("mark", ""))
        return deed(options, channel)

    return marking


@marked
def hang(options: Options, channel: Channel) -> None:
    channel.progress(0.01)
    time.sleep(FOREVER_S)


@marked
def multiply(options: Options, channel: Channel) -> None:
    """Children in sessions of their own, which a signal to the group would miss."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER_S)
    hang(options, channel)


@marked
def burn(options: Options, channel: Channel) -> None:
    while True:
        pass


@marked
def grow(options: Options, channel: Channel) -> None:
    kept = []
    while True:
        kept.append(bytearray(64 * 1024**2))


@marked
def crash(options: Options, channel: Channel) -> None:
    ctypes.string_at(0)


@marked
def leave(options: Options, channel: Channel) -> None:
    os._exit(options["code"])


@marked
def raise_defect(options: Options, channel: Channel) -> None:
    raise ZeroDivisionError("a mistake of ours")


@marked
def raise_failure(options: Options, channel: Channel) -> None:
    raise InputRefused(MediaFailure(options["failure"]), "as asked")


@marked
def babble(options: Options, channel: Channel) -> None:
    channel._say({"surprise": True})
    time.sleep(FOREVER_S)


@marked
def drone(options: Options, channel: Channel) -> None:
    while True:
        channel._socket.sendall(b"x" * 65536)


@marked
def flood(options: Options, channel: Channel) -> None:
    while True:
        channel._say({"progress": 1})


@marked
def lie(options: Options, channel: Channel) -> Lie:
    return Lie("what nobody asked for")


@marked
def overflow(options: Options, channel: Channel) -> None:
    for number in range(1_000_000):
        with channel.create(f"{number}") as file:
            file.write(b"x" * 1024**2)


@marked
def trespass(options: Options, channel: Channel) -> Said:
    for name in options["names"]:
        channel.create(name).close()
    return Said({})


@marked
def hoard(options: Options, channel: Channel) -> Said:
    """Asks for files and does not take them."""
    for number in range(100_000):
        channel._say({"create": f"{number}"})
    time.sleep(FOREVER_S)
    return Said({})


@marked
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


@marked
def look_around(options: Options, channel: Channel) -> Said:
    """Tries each way out; says which were open."""
    ways: dict[str, Callable[[], object]] = {
        "read": lambda: Path(options["file"]).read_bytes(),
        "list": lambda: os.listdir(options["folder"]),  # noqa: PTH208 - the file is a few lines of system calls
        "write here": lambda: Path("outside").write_text("x"),
        "write for the next one": lambda: Path("/tmp/outside").write_text("x"),  # noqa: S108 - it must not be there
        "write to the system": lambda: Path(sys.prefix, "outside").write_text("x"),
        "connect": lambda: socket.create_connection(("127.0.0.1", options["port"]), timeout=2),
        "listen": lambda: socket.create_server(("0.0.0.0", options["port"] + 1)),  # noqa: S104 - it must not matter
        "signal": lambda: os.kill(options["process"], 0),
        "become root": lambda: os.setuid(0),
        "mount": _mount,
    }
    return Said({"open": [name for name, way in ways.items() if _succeeds(way)]})


@marked
def inspect(options: Options, channel: Channel) -> Said:
    return Said(
        {
            "user": os.getuid(),
            "process": os.getpid(),
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


@marked
def toil(options: Options, channel: Channel) -> Said:
    """The one that does what it should, and takes its time."""
    for turn in range(options["turns"]):
        channel.progress(turn / options["turns"])
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
    return Said({"turns": options["turns"]})
