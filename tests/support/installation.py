"""One installation as a person has it: its own data folder, driven by the `touchline` command alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from touchline.apps import cli
from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.status import StackState, find_orphans, lock_holder, read_state

from .stack import ROOT, temporary_root

PARTS = ["postgres", "temporal", "objects", "clickhouse", "control", "worker", "node"]


class Installation:
    def __init__(self, root: Path, environment: Mapping[str, str] | None = None, cwd: Path = ROOT) -> None:
        self.folder = DataFolder(root)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHLINE_")}
        own = {"TOUCHLINE_DATA": str(root), "PYTHONPATH": str(ROOT / "src")}
        self._environment = {**inherited, **own, **(environment or {})}
        self._cwd = cwd

    def start(
        self, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "touchline", *arguments]
        pipe, where, own = subprocess.PIPE, cwd or self._cwd, {**self._environment, **(environment or {})}
        return subprocess.Popen(command, env=own, cwd=where, stdout=pipe, stderr=pipe, text=True)

    def run(self, *arguments: str, cwd: Path | None = None) -> tuple[int, Any]:
        """The exit code and the document of a command with `--json`."""
        with self.start(*arguments, "--json", cwd=cwd) as process:
            output, errors = process.communicate()
        return process.returncode, json.loads(output) if output else errors

    def command(self, *arguments: str, cwd: Path | None = None) -> tuple[int, Any]:
        """The same in this process, for one command after the other: loading the product takes longer than most."""
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()):
            patch.chdir(cwd or self._cwd)
            for name in os.environ.keys() - self._environment.keys():
                patch.delenv(name)
            for name, value in self._environment.items():
                patch.setenv(name, value)
            code = cli.run([*arguments, "--json"])
        return code, json.loads(output.getvalue())

    def up(self) -> Any:
        """What `up` says when everything is ready."""
        code, document = self.run("up", "--detach")
        assert code == 0, document
        return document

    def pid(self, part: str) -> int:
        """At once: whoever asks for it wants to catch the part at something."""
        found = next(each.pid for each in self.state.parts if each.name == part)
        assert found
        return found

    @property
    def state(self) -> StackState:
        """What the supervisor says; `status` would take a second to say the same."""
        found = read_state(self.folder.state)
        assert found
        return found

    def close(self) -> None:
        if lock_holder(self.folder) is not None:
            self.run("down")
        assert not find_orphans(self.folder)


@contextmanager
def temporary_installation(environment: Mapping[str, str] | None = None, cwd: Path = ROOT) -> Generator[Installation]:
    with temporary_root() as root:
        installation = Installation(root, environment, cwd)
        try:
            yield installation
        finally:
            installation.close()
