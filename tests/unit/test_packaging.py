"""What is shipped: a wheel with migrations and page inside, and lock files that name no host and no machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==", re.MULTILINE)
PAGE_LOCK = ROOT / "web" / "package-lock.json"
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
    runtime = wanted(PROJECT["project"]["dependencies"])
    assert runtime <= set(PINNED.findall(lock("runtime.txt")))
    assert runtime | wanted(PROJECT["dependency-groups"]["dev"]) <= set(PINNED.findall(lock("dev.txt")))


def test_the_wheel_carries_every_migration(wheel: zipfile.ZipFile) -> None:
    folder = ROOT / "migrations"
    files = {f"touchline/migrations/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.sql")}
    assert files
    assert {name for name in wheel.namelist() if name.endswith(".sql")} == files


def test_the_wheel_carries_the_page(wheel: zipfile.ZipFile) -> None:
    built = ROOT / "web" / "dist"
    files = {f"touchline/web/{path.relative_to(built).as_posix()}" for path in built.rglob("*") if path.is_file()}
    assert "touchline/web/index.html" in files
    assert {name for name in wheel.namelist() if name.startswith("touchline/web/")} == files


def test_the_package_imports_only_what_comes_along_with_it() -> None:
    """Otherwise the wheel alone would not be enough."""
    ours = {"touchline", *sys.stdlib_module_names}
    locked = set(PINNED.findall(lock("runtime.txt")))
    providers = packages_distributions()
    strangers = [
        module
        for module in imported_modules(ROOT / "src") - ours
        if locked.isdisjoint(name.lower().replace("_", "-") for name in providers.get(module, []))
    ]
    assert strangers == []


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


def test_the_wheel_carries_the_package_and_its_license_only(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"touchline", next(top for top in tops if top.endswith(".dist-info"))}
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
