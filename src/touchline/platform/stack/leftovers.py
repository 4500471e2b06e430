"""Processes that a supervisor of this folder left behind, and the warden that sees to it that it leaves none.

The tether ends what we start; this is for what those started themselves.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psutil

from touchline.kernel.errors import SetupError

from .environment import is_marked, mark
from .folder import DataFolder

WARDEN = Path(__file__).with_name("warden.py")
GOING_BY_ITSELF = timedelta(seconds=2)
KILLED = timedelta(seconds=5)


def find_leftovers(folder: DataFolder) -> list[psutil.Process]:
    ourselves = {psutil.Process().pid, *(parent.pid for parent in psutil.Process().parents())}
    return [
        process for process in psutil.process_iter() if process.pid not in ourselves and _works_for(folder, process)
    ]


def end_leftovers(folder: DataFolder) -> int:
    """Waits for those that are just ending, kills the rest; answers how many had to be killed.

    Needs the lock: then none of them is anybody's.
    """
    _, staying = psutil.wait_procs(find_leftovers(folder), timeout=GOING_BY_ITSELF.total_seconds())
    for process in staying:
        process.kill()
    _, immortal = psutil.wait_procs(staying, timeout=KILLED.total_seconds())
    if immortal:
        why = f"process {immortal[0].pid} cannot be killed"
        raise SetupError("a process of an earlier run is still there", why=why, hint="Restart the machine.")
    return len(staying)


@contextmanager
def warded(folder: DataFolder, files: Sequence[Path] = ()) -> Generator[None]:
    """As long as this lasts, our death is noticed by a small process that then ends what we leave: processes, and
    these files, which servers make outside of our folder."""
    [text] = (f"{name}={value}" for name, value in mark(folder).items())
    command = [sys.executable, "-I", "-S", str(WARDEN), text, str(folder.lock), *map(str, files)]
    nothing = subprocess.DEVNULL
    warden = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True)
    try:
        yield
    finally:
        warden.kill()
        warden.communicate()


def _works_for(folder: DataFolder, process: psutil.Process) -> bool:
    try:
        return is_marked(process.environ(), folder)
    except (psutil.Error, OSError):
        return False  # gone meanwhile, or another user's, which ours never are
