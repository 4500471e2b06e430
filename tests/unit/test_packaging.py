"""What is shipped: wheels of the product (with migrations and page) and of the world; lock files that name no host."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import touchline
import touchline_world

ROOT = Path(__file__).parents[2]
WORLD = ROOT / "world"
PROJECT, WORLD_PROJECT = (tomllib.loads((each / "pyproject.toml").read_text("utf-8")) for each in (ROOT, WORLD))
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==", re.MULTILINE)
PAGE_LOCK = ROOT / "web" / "package-lock.json"
LOCKS = ["runtime.txt", "dev.txt"]


def wanted(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ]", requirement)[0] for requirement in requirements}


def lock(name: str) -> str:
    return (ROOT / "requirements" / name).read_text("utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def world_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(WORLD, tmp_path_factory.mktemp("world-wheel"))


def build(project: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project)]
    subprocess.run(command, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return path


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


class Environment:
    """A fresh one with the locked packages as they are installed here, and with none of ours; nothing is downloaded."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self._programs = folder / "bin"
        [packages] = folder.glob("lib/python*/site-packages")
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if path.suffix != ".pth" and not path.name.startswith(("touchline", "_touchline", "__pycache__")):
                (packages / path.name).symlink_to(path)

    def install(self, *wheels: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self._programs / "python"), "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-index", *map(str, wheels)], check=True, capture_output=True)

    def touchline(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TOUCHLINE"))
        }
        command = [str(self._programs / "touchline"), *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=self._programs)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index_and_no_machine(name: str) -> None:
    lines = lock(name).splitlines()
    assert [line for line in lines if "://" in line or "index-url" in line or re.search(r"(^|\s|=)/", line)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_everything_in_a_lock_has_a_hash(name: str) -> None:
    blocks = re.split(r"\n(?=[a-z])", lock(name).split("\n", 2)[2])
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_lock_of_the_page_names_no_host_and_has_all_hashes() -> None:
    """`make lock` makes it so after `npm install`."""
    text = PAGE_LOCK.read_text("utf-8")
    assert [line for line in text.splitlines() if "://" in line or '"resolved"' in line] == []
    packages = json.loads(text)["packages"]
    assert [name for name, package in packages.items() if name and "integrity" not in package] == []


def test_a_lock_of_the_page_loses_its_hosts_and_nothing_else(tmp_path: Path) -> None:
    path, lock = tmp_path / "package-lock.json", json.loads(PAGE_LOCK.read_text("utf-8"))
    for number, package in enumerate(lock["packages"].values()):
        donate = {"url": "https://donate.example"}
        package["funding"] = donate if number % 2 else [donate, "https://other.example"]
        package["resolved"] = "https://index.example/package.tgz"
    path.write_text(json.dumps(lock), "utf-8")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "plain_lock.py"), str(path)], check=True)
    assert path.read_text("utf-8") == PAGE_LOCK.read_text("utf-8")


def test_the_locks_hold_what_the_project_asks_for() -> None:
    runtime = wanted(PROJECT["project"]["dependencies"] + WORLD_PROJECT["project"]["dependencies"]) - {"touchline"}
    assert runtime <= set(PINNED.findall(lock("runtime.txt")))
    assert runtime | wanted(PROJECT["dependency-groups"]["dev"]) <= set(PINNED.findall(lock("dev.txt")))


def test_the_wheel_carries_every_migration(wheel: Path) -> None:
    folder = ROOT / "migrations"
    files = {f"touchline/migrations/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.sql")}
    assert files
    assert {name for name in names_in(wheel) if name.endswith(".sql")} == files


def test_the_wheel_carries_the_page(wheel: Path) -> None:
    built = ROOT / "web" / "dist"
    files = {f"touchline/web/{path.relative_to(built).as_posix()}" for path in built.rglob("*") if path.is_file()}
    assert "touchline/web/index.html" in files
    assert {name for name in names_in(wheel) if name.startswith("touchline/web/")} == files


def test_the_package_imports_only_what_comes_along_with_it() -> None:
    """Otherwise the wheel alone would not be enough."""
    assert strangers_in(ROOT / "src", {"touchline"}) == []
    assert strangers_in(WORLD / "src", {"touchline", "touchline_world"}) == []


def strangers_in(sources: Path, ours: set[str]) -> list[str]:
    locked = set(PINNED.findall(lock("runtime.txt")))
    providers = packages_distributions()
    return [
        module
        for module in imported_modules(sources) - ours - sys.stdlib_module_names
        if locked.isdisjoint(name.lower().replace("_", "-") for name in providers.get(module, []))
    ]


def imported_modules(folder: Path) -> set[str]:
    return {name for path in folder.rglob("*.py") for name in _imports(ast.parse(path.read_text("utf-8")))}


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (name.name.partition(".")[0] for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def test_the_wheel_carries_the_package_and_its_license_only(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names_in(wheel)}
    assert tops == {"touchline", next(top for top in tops if top.endswith(".dist-info"))}
    assert any(name.endswith("licenses/LICENSE") for name in names_in(wheel))


def test_the_wheel_of_the_world_carries_its_pages_too(world_wheel: Path) -> None:
    package = WORLD / "src" / "touchline_world"
    files = {f"touchline_world/{path.relative_to(package).as_posix()}" for path in package.rglob("page/*")}
    assert "touchline_world/social/page/search.html" in files
    assert files <= {*names_in(world_wheel)}
    assert {name.partition("/")[0] for name in names_in(world_wheel) if ".dist-info" not in name} == {"touchline_world"}


def test_the_demo_installs_the_world_of_the_same_version() -> None:
    assert wanted(PROJECT["project"]["optional-dependencies"]["demo"]) == {WORLD_PROJECT["project"]["name"]}
    assert touchline_world.__version__ == touchline.__version__


def test_the_world_comes_with_its_own_wheel(wheel: Path, world_wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "installed")
    environment.install(wheel)
    assert environment.touchline("demo", "--help").returncode == 0
    for command in (["demo"], ["world"], ["world", "serve", "--help"]):
        refused = environment.touchline(*command)
        assert refused.returncode != 0
        assert "the simulated world is not installed" in refused.stderr
        assert 'pip install "touchline[demo]"' in refused.stderr
    assert "world" not in environment.touchline("--help").stdout.split()

    environment.install(world_wheel)
    assert environment.touchline("demo", "--help").returncode == 0
    assert "serve" in environment.touchline("world", "--help").stdout
    assert environment.touchline("world", "day", "--seed", "7").stdout.startswith("Match day 7")
