"""The set-up scripts: they install what is missing and nothing else, and show one line a step. And the checks of
`make test`, which run when something has changed.

`apt-get` and the tools of the checks are programs here that note what they are asked for; only root gets to `apt-get`.
"""

from __future__ import annotations

import os
import shutil
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
SRT = "lib/x86_64-linux-gnu/libsrt.so.1.5"
DPKG_DEB = """#!/bin/sh
mkdir -p "$3/usr/lib/any" && touch "$3/usr/lib/any/libsrt.so.1.5"
"""


@dataclass(frozen=True)
class Machine:
    folder: Path

    def has(self, name: str, text: str = "#!/bin/sh\n") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
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
            "DEBIAN_LIBRARIES": str(self.folder / "lib"),
            "DEBIAN_UNPACKED": str(self.folder / "unpacked"),
            "APT_LOG": str(log),
            "SETUP_LOG": str(self.folder / "setup.log"),
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
    machine.has(SRT)
    assert machine.set_up() == []
    assert not (machine.folder / "etc").exists()


def test_a_browser_is_installed_without_a_word_about_servers(machine: Machine) -> None:
    machine.has("postgres")
    machine.has(SRT)
    if not INSTALLS:
        machine.has("browser")  # otherwise it would be downloaded
    assert machine.set_up() == ["chromium"] * INSTALLS
    assert not (machine.folder / "etc").exists()


def test_postgresql_is_installed_after_its_server_was_forbidden(machine: Machine) -> None:
    machine.has("browser")
    machine.has(SRT)
    assert machine.set_up() == ["postgresql-15 without a server"] * INSTALLS
    assert (machine.folder / "etc").exists() == INSTALLS


def test_libsrt_is_installed_by_root_and_unpacked_by_others(machine: Machine) -> None:
    for name in ("postgres", "browser"):
        machine.has(name)
    machine.has("dpkg-deb", DPKG_DEB)
    assert machine.set_up() == ["libsrt1.5-openssl"]
    assert (machine.folder / "unpacked/usr/lib/any/libsrt.so.1.5").exists() != INSTALLS


STEPS = """
source scripts/steps.sh
step "counting" seq 100
step "failing" sh -c 'seq 200 300; exit 7'
"""


def test_a_step_is_one_line_and_a_failed_one_shows_the_end_of_the_log_and_names_it(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    environment = {"PATH": os.environ["PATH"], "SETUP_LOG": str(log)}
    done = subprocess.run(
        ["bash", "-euc", STEPS], cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 7
    assert done.stdout == ""
    assert lines[:2] == ["setup: counting …", "setup: failing …"]
    assert lines[2].startswith("setup: failed after")
    assert [line.strip() for line in lines[3:-1]] == [str(number) for number in range(286, 301)]
    assert lines[-1] == f"setup: All that was printed is in {log}"
    assert {"50", "250"} <= set(log.read_text().splitlines())


TOOL = """#!/bin/sh
echo "${0##*/} $*" | tee -a tools.log
[ ! -e "broken-${0##*/}" ]
"""
TOOLS = ["ruff check", "ruff format --check", "pyright ", "lint-imports --no-logo"]


@dataclass(frozen=True)
class Checkout:
    folder: Path

    def check(self) -> tuple[int, list[str]]:
        """The exit code, and which tools ran."""
        log = self.folder / "tools.log"
        log.write_text("")
        done = subprocess.run(["scripts/check", "python"], cwd=self.folder, check=False, capture_output=True, text=True)
        ran = log.read_text().splitlines()
        assert done.stdout.splitlines()[: len(ran)] == ran
        return done.returncode, ran


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for name in ("src", "world", "tests", "scripts", "bench", "requirements", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("pyproject.toml", "requirements/dev.txt", ".venv/pyvenv.cfg", "src/code.py"):
        (tmp_path / name).write_text("")
    for name in ("ruff", "pyright", "lint-imports"):
        Machine(tmp_path / ".venv" / "bin").has(name, TOOL)
    shutil.copy(ROOT / "scripts" / "check", tmp_path / "scripts")
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    "changed", ["src/code.py", "tests/new.py", "scripts/check", "requirements/dev.txt", ".venv/pyvenv.cfg"]
)
def test_what_passed_is_checked_again_when_something_changed(checkout: Checkout, changed: str) -> None:
    assert checkout.check() == (0, TOOLS)
    assert checkout.check() == (0, [])
    with (checkout.folder / changed).open("a") as file:
        file.write("# changed\n")
    assert checkout.check() == (0, TOOLS)


def test_what_failed_is_checked_again(checkout: Checkout) -> None:
    broken = checkout.folder / "broken-pyright"
    broken.touch()
    assert checkout.check() == (1, TOOLS[:3])
    assert checkout.check() == (1, TOOLS[:3])
    broken.unlink()
    assert checkout.check() == (0, TOOLS)
