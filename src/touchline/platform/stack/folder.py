"""The data folder: where everything of one installation lies.

Invariant: nothing outside of it is changed, and inside of it nobody but us reads. Root's installation lets the
service user pass through the top folder, to reach what belongs to it.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from touchline.kernel.errors import Misconfigured

from .files import PRIVATE_FOLDER, private_folder, write_private
from .users import ServiceUser

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
        """Where the parts put what nobody needs after their end; emptied at every start."""
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
        """Make what is missing and tighten what is there. Refuses a folder that is somebody's or something else's."""
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
                f"{self.root} is no data folder of Touchline",
                why=f"it holds other things, like {min(found)}",
                hint="Choose an empty or a new folder with the setting `data`.",
            )


def _user_name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"
