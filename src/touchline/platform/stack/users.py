"""The user that a server runs as when root starts the stack."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from touchline.kernel.errors import Misconfigured

ENTER = 0o1  # the permission bit to pass through a folder


@dataclass(frozen=True, slots=True)
class ServiceUser:
    name: str
    user_id: int
    group_id: int

    @property
    def owner(self) -> tuple[int, int]:
        return self.user_id, self.group_id


def service_user(name: str) -> ServiceUser | None:
    """None unless root asks: anybody else runs the servers as themselves."""
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


def closed_to(user: ServiceUser, folders: Iterable[Path]) -> Path | None:
    """The first of these folders that the user cannot pass through, judged by its mode alone."""
    return next((folder for folder in folders if not _may_enter(user, folder)), None)


def _may_enter(user: ServiceUser, folder: Path) -> bool:
    status = folder.stat()
    if status.st_uid == user.user_id:
        return bool(status.st_mode >> 6 & ENTER)
    if status.st_gid == user.group_id:
        return bool(status.st_mode >> 3 & ENTER)
    return bool(status.st_mode & ENTER)
