"""What `scripts/setup-debian` and `setup-browser` change on a machine: they install what is missing, nothing beside.

`apt-get` is a program here that notes what it is asked for; only root gets to it.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.stack import ROOT

APT_GET = """#!/bin/sh
for package; do :; done
[ -e "$DEBIAN_CLUSTERS" ] && package="$package without a server"
echo "$package" >>"$APT_LOG"
[ "$package" = chromium ] && cp "$0" "$CHROMIUM"
exit 0
"""
INSTALLS = os.geteuid() == 0


@dataclass(frozen=True)
class Machine:
    folder: Path

    def has(self, name: str, text: str = "#!/bin/sh\n") -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def set_up(self) -> list[str]:
        """What was installed."""
        log = self.folder / "apt.log"
        log.touch()
        environment = {
            "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "CHROMIUM": str(self.folder / "browser"),
            "DEBIAN_POSTGRES": str(self.folder / "postgres"),
            "DEBIAN_CLUSTERS": str(self.folder / "etc" / "createcluster.conf"),
            "APT_LOG": str(log),
        }
        for script in ("setup-debian", "setup-browser"):
            subprocess.run([str(ROOT / "scripts" / script)], env=environment, check=True, capture_output=True)
        return log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.has("apt-get", APT_GET)
    return machine


def test_a_machine_that_has_everything_is_left_alone(machine: Machine) -> None:
    machine.has("postgres")
    machine.has("browser")
    assert machine.set_up() == []
    assert not (machine.folder / "etc").exists()


def test_a_browser_is_installed_without_a_word_about_servers(machine: Machine) -> None:
    machine.has("postgres")
    if not INSTALLS:
        machine.has("browser")  # otherwise it would be downloaded
    assert machine.set_up() == ["chromium"] * INSTALLS
    assert not (machine.folder / "etc").exists()


def test_postgresql_is_installed_after_its_server_was_forbidden(machine: Machine) -> None:
    machine.has("browser")
    assert machine.set_up() == ["postgresql-15 without a server"] * INSTALLS
    assert (machine.folder / "etc").exists() == INSTALLS
