"""A real stack as a process of its own, tethered to the tests: it ends when they do, however they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from touchline.platform.endpoints import Endpoints
from touchline.platform.stack import postgres
from touchline.platform.stack.folder import DataFolder, read_ports, read_secrets
from touchline.platform.stack.part import StackRole
from touchline.platform.stack.process import Launch, guarded_command
from touchline.platform.stack.stack import NOTHING_OUTSIDE, SERVERS, OutsideEndpoints, read_endpoints
from touchline.platform.stack.status import PartStatus, StackPhase, StackState, find_orphans, read_state

from .small_disk import SmallDisk, mounted, seen_by
from .wait import eventually

ROOT = Path(__file__).parents[2]
START_S = 60.0
PASSABLE = 0o711
# Every bucket takes a volume, and there are as many as fit on the disk.
SMALL = {"objects_volume_size": "64MiB"}


@dataclass(frozen=True, slots=True)
class StackPlan:
    """What to run; goes to the process as JSON."""

    root: Path
    only: Iterable[str] = tuple(SERVERS)
    settings: Mapping[str, Any] = field(default_factory=dict)
    outside: OutsideEndpoints = NOTHING_OUTSIDE
    roles: tuple[StackRole, ...] = ()

    def document(self) -> str:
        outside, roles = asdict(self.outside), [asdict(role) for role in self.roles]
        document = {"root": str(self.root), "only": sorted(self.only), "settings": {**SMALL, **self.settings}}
        return json.dumps({**document, "outside": outside, "roles": roles})


class RunningStack:
    def __init__(self, plan: StackPlan, disk_mib: int | None = None) -> None:
        """`disk_mib`: its data folder is a file system of this size, and of its own."""
        self.plan = plan
        self.folder = DataFolder(plan.root)
        if disk_mib:
            plan.root.mkdir()
        before = mounted(plan.root, disk_mib) if disk_mib else []
        command = [*before, sys.executable, "-m", "tests.support.stack_process"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        self.process = subprocess.Popen(
            guarded_command(Launch(command, ROOT, environment)),
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdin
        self.process.stdin.write(plan.document())
        self.process.stdin.close()
        self.disk = SmallDisk(seen_by(self.process.pid, plan.root))
        self.seen = DataFolder(self.disk.folder) if disk_mib else self.folder  # where that is reached from here

    @property
    def state(self) -> StackState | None:
        """What this supervisor says, and not one before it."""
        state = read_state(self.seen.state)
        return state if state and state.pid == self.process.pid else None

    @property
    def endpoints(self) -> Endpoints:
        return read_endpoints(self.seen, self.plan.outside)

    @property
    def superuser_url(self) -> str:
        return postgres.superuser_url(read_ports(self.seen.ports), read_secrets(self.seen.secrets))

    @property
    def passwords(self) -> Mapping[str, str]:
        return read_secrets(self.seen.secrets)

    def part(self, name: str) -> PartStatus:
        assert self.state
        return next(part for part in self.state.parts if part.name == name)

    def wait_until_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.complaint()
            return self.state is not None and self.state.phase is StackPhase.READY

        eventually(ready, START_S)

    def complaint(self) -> str:
        """What it wrote when it failed."""
        assert self.process.stderr
        self.process.wait()
        return self.process.stderr.read()

    def kill(self) -> None:
        """The supervisor alone, and then wait for what that does to the rest."""
        self.process.kill()
        self.process.wait()
        eventually(lambda: not find_orphans(self.folder))

    def stop(self) -> int:
        """As Ctrl-C would."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stderr):
            if stream:
                stream.close()


@contextmanager
def running_stack(plan: StackPlan, *, ready: bool = True, disk_mib: int | None = None) -> Generator[RunningStack]:
    stack = RunningStack(plan, disk_mib)
    try:
        if ready:
            stack.wait_until_ready()
        yield stack
    finally:
        stack.close()


@contextmanager
def temporary_root() -> Generator[Path]:
    """For a data folder. Others may pass through: as root, PostgreSQL runs as another user."""
    folder = Path(tempfile.mkdtemp(prefix="touchline-"))
    try:
        folder.chmod(PASSABLE)
        yield folder / "data"
    finally:
        shutil.rmtree(folder)
