"""What is shipped: a wheel that carries the migrations, and lock files that name no host and no machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==", re.MULTILINE)
LOCKS = ["runtime.txt", "dev.txt"]


def wanted(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ]", requirement)[0] for requirement in requirements}


def lock(name: str) -> str:
    return (ROOT / "requirements" / name).read_text("utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [path] = folder.glob("touchline-*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index_and_no_machine(name: str) -> None:
    lines = lock(name).splitlines()
    assert [line for line in lines if "://" in line or "index-url" in line or re.search(r"(^|\s|=)/", line)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_everything_in_a_lock_has_a_hash(name: str) -> None:
    blocks = re.split(r"\n(?=[a-z])", lock(name).split("\n", 2)[2])
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_locks_hold_what_the_project_asks_for() -> None:
    runtime = wanted(PROJECT["project"]["dependencies"])
    assert runtime <= set(PINNED.findall(lock("runtime.txt")))
    assert runtime | wanted(PROJECT["dependency-groups"]["dev"]) <= set(PINNED.findall(lock("dev.txt")))


def test_the_wheel_carries_every_migration(wheel: zipfile.ZipFile) -> None:
    folder = ROOT / "migrations"
    files = {f"touchline/migrations/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.sql")}
    assert files
    assert {name for name in wheel.namelist() if name.endswith(".sql")} == files


def test_the_wheel_carries_the_package_and_its_license_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"touchline", next(top for top in tops if top.endswith(".dist-info"))}
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
