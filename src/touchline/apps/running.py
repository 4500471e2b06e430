"""How a role runs: one main thing until a stop signal, loops beside it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from secrets import token_hex
from typing import Any

from touchline.platform import http_server

Loop = Coroutine[Any, Any, None]


class Server(http_server.HttpServer):
    """The signals are handled by the process, which has more to stop than this."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True


def on_stop_signal(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


async def beside(main: Loop, loops: Sequence[Loop]) -> None:
    """The main thing to its end, the loops as long as it runs. A loop that fails ends all: it is started again."""
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(loop) for loop in loops]
        await main
        for task in running:
            task.cancel()


@cache
def process_name() -> str:
    """Of this process and no other, also after a restart that gives its number to another."""
    return f"{socket.gethostname()}/{os.getpid()}/{token_hex(4)}"


def keep_what_is_loaded() -> None:
    """What a role has loaded stays: its collector need not go through it again, and not after every few objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
