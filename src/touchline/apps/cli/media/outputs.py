"""What a command makes of a video: it appears under its name when it is complete, and never in place of something else.

Invariant: whatever goes wrong, nothing half-written is left.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from touchline.apps.cli.output import progress
from touchline.kernel.errors import AlreadyExists, NotFound

STEP_PERCENT = 10


@contextmanager
def new_folder(target: Path) -> Generator[Path]:
    """An empty folder that becomes `target`, which must not exist or be empty."""
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise _taken(target, "it is not an empty folder")
    with _draft(target) as draft:
        yield draft
        _open_to_others(draft)
        try:
            draft.rename(target)
        except OSError as error:  # somebody else was quicker
            raise _taken(target, error.strerror or "") from error


@contextmanager
def new_file(target: Path) -> Generator[Path]:
    """An empty folder in which one file is made that becomes `target`, which must not exist."""
    if os.path.lexists(target):
        raise _taken(target)
    with _draft(target) as draft:
        yield draft
        _open_to_others(draft)
        [made] = draft.iterdir()
        try:
            target.hardlink_to(made)
        except FileExistsError as error:  # somebody else was quicker, and a rename would replace theirs
            raise _taken(target) from error
        except OSError:  # not every file system has links
            made.rename(target)


def _taken(target: Path, why: str = "") -> AlreadyExists:
    return AlreadyExists(f"{target} exists already", why=why, hint="Choose another name, or delete it.")


def percentages() -> Callable[[int], None]:
    """A line for the person who waits, at every tenth of the work."""
    told = 0

    def tell(percent: int) -> None:
        nonlocal told
        if percent // STEP_PERCENT > told // STEP_PERCENT:
            progress(f"{percent} %")
            told = percent

    return tell


@contextmanager
def _draft(target: Path) -> Generator[Path]:
    """Beside the target, so that the last step is a rename."""
    if not target.absolute().parent.is_dir():
        raise NotFound(f"there is no folder {target.absolute().parent}", hint="Create it, then try again.")
    draft = Path(mkdtemp(prefix=".touchline-", dir=target.absolute().parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open_to_others(folder: Path) -> None:
    """The sandbox makes files for its caller alone; these are the user's, who may want to serve them."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
