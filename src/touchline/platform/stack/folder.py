"""The data folder: where everything of one installation lies, who may read it, and how small files in it are written.

Invariant: nothing outside of it is changed, and inside of it nobody but us reads; a file is never half written.
Root's installation lets the service user pass through the top folder, to reach what belongs to it.

One installation: its ports and its secrets, generated once and remembered in the data folder.

Invariants: once made, a secret never changes, because data that is locked with it would be lost; its file is ours
alone. The ports of one installation differ, and lie outside of the range that the system uses for outgoing
connections, where a remembered port would be taken by chance.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import secrets
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex

from pydantic import TypeAdapter, ValidationError

from touchline.contracts.settings import Port
from touchline.kernel import Misconfigured, SetupError
from touchline.platform.clickhouse.options import OwnerLimits
from touchline.platform.settings import StackSettings

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


LOOPBACK = "127.0.0.1"
LOWEST = 15_000
HIGHEST = 65_535
OUTGOING_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

Ports = Mapping[str, int]
NO_PORTS: Ports = {}
_PORTS = TypeAdapter(dict[str, Port])


def is_free(port: int) -> bool:
    """As a server would find it: a connection in TIME_WAIT does not count, a listener does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def read_ports(path: Path) -> Ports:
    """The saved ports; a file that cannot be read counts as none, since any free port will do."""
    try:
        return _PORTS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}


def choose_ports(path: Path, names: Iterable[str], avoid: Collection[int] = (), preferred: Ports = NO_PORTS) -> Ports:
    """A free port for every name: the saved one if it is still free, else the preferred one; none of those to avoid."""
    remembered = read_ports(path)
    chosen: dict[str, int] = {}
    candidates = _candidates()
    for name in names:
        kept = remembered.get(name)
        if kept is not None and kept not in (*chosen.values(), *avoid) and is_free(kept):
            chosen[name] = kept
        else:
            taken = {*chosen.values(), *remembered.values(), *avoid}
            first = [preferred[name]] if name in preferred else []
            chosen[name] = next(port for port in chain(first, candidates) if port not in taken and is_free(port))
    if chosen != remembered:
        write_private(path, json.dumps({**remembered, **chosen}, indent=2) + "\n")
    return chosen


def _candidates() -> Iterator[int]:
    """In random order, so that two installations seldom collide; the outgoing range only when all else is taken."""
    lowest, highest = _outgoing_range()
    calm = [port for port in range(LOWEST, HIGHEST) if not lowest <= port <= highest]
    busy = range(max(LOWEST, lowest), highest)
    yield from random.sample(calm, len(calm))
    yield from random.sample(busy, len(busy))
    raise SetupError("no port is free on the loopback address", hint="Stop something that listens on many ports.")


def _outgoing_range() -> tuple[int, int]:
    try:
        lowest, highest = OUTGOING_RANGE.read_text(encoding="ascii").split()
    except OSError:
        return 32_768, 60_999
    return int(lowest), int(highest)


SECRET_BYTES = 32
_SECRETS = TypeAdapter(dict[str, str])


class Secrets(Mapping[str, str]):
    """Secrets by name; its repr shows no value."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"


def read_secrets(path: Path) -> Secrets:
    if not path.exists():
        return Secrets({})
    if path.stat().st_mode & OPEN_TO_OTHERS:
        raise SetupError(
            f"others can read {path}",
            why="anyone who has read it can access every part of the stack",
            hint=f"Run `chmod 600 {path}`, and consider who may have read it.",
        )
    try:
        return Secrets(_SECRETS.validate_json(path.read_bytes()))
    except ValidationError:
        # Not the validator's message, which quotes what it read: that is secret.
        hint = "Restore the file from a backup: the data is protected with these secrets."
        raise SetupError(f"{path} cannot be read", why="it is not a JSON object of strings", hint=hint) from None


def ensure_secrets(path: Path, names: Iterable[str]) -> Secrets:
    """All named secrets; missing ones are generated now and kept from then on."""
    known = read_secrets(path)
    missing = [name for name in names if name not in known]
    if not missing:
        return known
    complete = Secrets({**known, **{name: secrets.token_urlsafe(SECRET_BYTES) for name in missing}})
    write_private(path, json.dumps(dict(complete), indent=2) + "\n", durable=True)
    return complete


@dataclass(frozen=True, slots=True)
class Installation:
    folder: DataFolder
    settings: StackSettings
    ports: Ports
    secrets: Secrets
    user: ServiceUser | None
    clickhouse: OwnerLimits
