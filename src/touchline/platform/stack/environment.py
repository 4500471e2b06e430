"""What started programs find in their environment.

Invariant: a server sees nothing of the person's own set-up, so that a stray variable or file cannot change it.
Every program carries a mark of the supervisor and the data folder that it works for, its children too. Temporary files
lie in that folder, so that nothing of a program that was killed stays in the system's.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import touchline

from .folder import DataFolder

MARK = "SUPERVISED_BY_TOUCHLINE"
LONGEST_SOCKET_PATH = 107
SOCKET_NAME = "/.org.chromium.Chromium.XXXXXX/SingletonSocket"  # the longest that any of our programs makes


def mark(folder: DataFolder) -> dict[str, str]:
    """For what this process, the supervisor, starts."""
    return {MARK: f"{os.getpid()}:{folder.root}"}


def is_marked(environment: Mapping[str, str], folder: DataFolder) -> bool:
    """Whoever the supervisor was."""
    return environment.get(MARK, "").partition(":")[2] == str(folder.root)


def server_environment(folder: DataFolder, home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    basis = {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    return basis | temporary(folder) | mark(folder) | dict(extra or {})


def python_environment(folder: DataFolder) -> dict[str, str]:
    """For our own processes."""
    return supervisor_environment(folder) | temporary(folder) | mark(folder)


def temporary(folder: DataFolder) -> dict[str, str]:
    """Where a socket would have too long a name, the system's folder it is."""
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
