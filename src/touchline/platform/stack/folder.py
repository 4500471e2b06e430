"""The data folder: where everything of one installation lies, who may read it, and how small files in it are written.

Invariant: nothing outside of it is changed, and inside of it nobody but us reads; a file is never half written.
Root's installation lets the service user pass through the top folder, to reach what belongs to it.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from touchline.kernel import Misconfigured

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
OPEN_TO_OTHERS = 0o077


def write_private(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace the whole file atomically; `durable` for what cannot be recreated after a power cut."""
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def private_folder(path: Path, owner: tuple[int, int] | None = None) -> Path:
    """Create the folder, or restrict the existing one; `owner` is a user and group id."""
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    path.chmod(PRIVATE_FOLDER)
    if owner:
        os.chown(path, *owner)
    return path


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


ENTER = 0o1  # the permission bit to enter a folder


@dataclass(frozen=True, slots=True)
class ServiceUser:
    name: str
    user_id: int
    group_id: int

    @property
    def owner(self) -> tuple[int, int]:
        return self.user_id, self.group_id


def service_user(name: str) -> ServiceUser | None:
    """None unless this is root: other users run the servers as themselves."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        hint = "Set `stack.service_user` to a user of this machine that is not root."
        raise Misconfigured(
            f"there is no user {name!r}", why="it is the setting stack.service_user", hint=hint
        ) from error
    if entry.pw_uid == 0:
        raise Misconfigured(
            f"{name!r} is root",
            why="PostgreSQL refuses to run as root",
            hint="Set `stack.service_user` to a user that is not root, like nobody.",
        )
    return ServiceUser(name, entry.pw_uid, entry.pw_gid)


def first_inaccessible(user: ServiceUser, folders: Iterable[Path]) -> Path | None:
    """The first of these folders that the user may not enter, by its mode alone."""
    return next((folder for folder in folders if not _may_enter(user, folder)), None)


def _may_enter(user: ServiceUser, folder: Path) -> bool:
    status = folder.stat()
    if status.st_uid == user.user_id:
        return bool(status.st_mode >> 6 & ENTER)
    if status.st_gid == user.group_id:
        return bool(status.st_mode >> 3 & ENTER)
    return bool(status.st_mode & ENTER)


PASSABLE_FOLDER = 0o711
MARK = ".touchline"
LAYOUT = "1\n"
MAY_BE_THERE_BEFORE = frozenset({"touchline.toml", "lost+found"})


@dataclass(frozen=True, slots=True)
class DataFolder:
    root: Path

    @property
    def secrets(self) -> Path:
        return self.root / "secrets.json"

    @property
    def ports(self) -> Path:
        return self.root / "ports.json"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def state(self) -> Path:
        return self.run / "state.json"

    @property
    def temporary(self) -> Path:
        """Temporary files of the parts; emptied at every start."""
        return self.run / "tmp"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def binaries(self) -> Path:
        return self.root / "bin"

    def of(self, part: str) -> Path:
        """Where one part keeps its data."""
        return self.root / part

    def log(self, part: str) -> Path:
        return self.logs / f"{part}.log"

    def exists(self) -> bool:
        return (self.root / MARK).exists()

    def create(self, user: ServiceUser | None) -> None:
        """Create what is missing and restrict what exists. Refuses a folder of another user or with other files."""
        try:
            self.root.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._refuse_foreign()
            self.root.chmod(PASSABLE_FOLDER if user else PRIVATE_FOLDER)
            if not self.exists():
                write_private(self.root / MARK, LAYOUT)
            private_folder(self.run)
            private_folder(self.logs)
        except OSError as error:
            hint = "Give this user the folder, or choose another one with the setting `data`."
            raise Misconfigured(f"the data folder {self.root} cannot be used", why=str(error), hint=hint) from error

    def _refuse_foreign(self) -> None:
        owner = self.root.stat().st_uid
        if owner != os.geteuid():
            raise Misconfigured(
                f"the data folder {self.root} belongs to {_user_name(owner)}",
                why="files of two users in one folder would lock one of them out",
                hint=f"Run the command as {_user_name(owner)}, or choose another folder with the setting `data`.",
            )
        found = {entry.name for entry in self.root.iterdir()} - MAY_BE_THERE_BEFORE
        if found and not self.exists():
            raise Misconfigured(
                f"{self.root} is not a Touchline data folder",
                why=f"it contains other files, like {min(found)}",
                hint="Choose an empty or a new folder with the setting `data`.",
            )


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"
