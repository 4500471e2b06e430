"""The rules of the design that import-linter and ruff cannot say, checked on the syntax trees of the sources.

Layers, `temporalio` and the codecs are import-linter's; `print` outside `apps` is ruff's.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import touchline

SOURCES = Path(touchline.__file__).parent
STARTERS = ("platform/", "media/sandbox/", "media/child/zygote.py")
SQL_FILES = ("store.py", "queries.py")
SQL_FOLDERS = ("platform/postgres/", "platform/stack/postgres.py")  # the latter asks whether the server answers

SQL = re.compile(
    r"\s*(--[^\n]*\n\s*)*"
    r"(SELECT|INSERT INTO|UPDATE [\w.]+ |DELETE FROM|WITH [\w]+ |CREATE |ALTER |DROP |GRANT |REVOKE |TRUNCATE |CALL |"
    r"LISTEN |NOTIFY |SET LOCAL|COPY )"
)
STARTING_MODULES = {"subprocess", "multiprocessing", "pty"}
STARTING_CALLS = re.compile(
    r"(asyncio\.|loop\.)?(create_subprocess_exec|create_subprocess_shell|subprocess_exec|subprocess_shell)"
    r"|os\.(system|popen|fork|forkpty|exec[lv]p?e?|spawn\w+|posix_spawnp?)"
)
SHELL_CALLS = re.compile(r"os\.(system|popen)|(asyncio\.|loop\.)?(create_subprocess_shell|subprocess_shell)")

Finding = tuple[int, str]


def foreign_imports(tree: ast.AST) -> Iterator[Finding]:
    """What is neither in the standard library nor ours below the kernel."""
    for line, module in imports(tree):
        if module.partition(".")[0] not in sys.stdlib_module_names and not module.startswith("touchline.kernel"):
            yield line, module


def started_processes(tree: ast.AST) -> Iterator[Finding]:
    for line, module in imports(tree):
        if module.partition(".")[0] in STARTING_MODULES:
            yield line, module
    yield from ((line, name) for line, name, _ in calls(tree) if STARTING_CALLS.fullmatch(name))


def shells(tree: ast.AST) -> Iterator[Finding]:
    for line, name, call in calls(tree):
        if SHELL_CALLS.fullmatch(name) or any(keyword.arg == "shell" for keyword in call.keywords):
            yield line, name


def statements(tree: ast.AST) -> Iterator[Finding]:
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    for constant in constants:
        if isinstance(constant.value, str) and SQL.match(constant.value):
            yield constant.lineno, constant.value.strip()[:60]


def imports(tree: ast.AST) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""


def calls(tree: ast.AST) -> Iterator[tuple[int, str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func), node


def in_kernel(path: str) -> bool:
    return path.startswith("kernel/")


def may_not_start(path: str) -> bool:
    return not path.startswith(STARTERS)


def may_not_query(path: str) -> bool:
    return not path.endswith(SQL_FILES) and not path.startswith(SQL_FOLDERS)


def anywhere(path: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("rule", "applies_to", "find"),
    [
        ("the kernel imports no third party", in_kernel, foreign_imports),
        ("only platform and the media sandbox start processes", may_not_start, started_processes),
        ("nobody goes through a shell", anywhere, shells),
        ("SQL is only in store.py, queries.py and platform.postgres", may_not_query, statements),
    ],
)
def test_rule(rule: str, applies_to: Callable[[str], bool], find: Callable[[ast.AST], Iterator[Finding]]) -> None:
    broken = [
        f"{path}:{line}: {found}" for path, tree in parsed_sources() if applies_to(path) for line, found in find(tree)
    ]
    assert not broken, f"{rule}:\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("find", "code"),
    [
        (foreign_imports, "import pydantic"),
        (foreign_imports, "from touchline.platform.postgres import Database"),
        (started_processes, "from subprocess import run"),
        (started_processes, "await asyncio.create_subprocess_exec('ls')"),
        (started_processes, "os.execvp('ls', ['ls'])"),
        (shells, "subprocess.run('ls', shell=True)"),
        (shells, "os.system('ls')"),
        (statements, "QUERY = '''\n-- why\nSELECT 1\n'''"),
        (statements, "execute(f'UPDATE jobs SET {field} = 1')"),
    ],
)
def test_the_rules_find_what_they_are_for(find: Callable[[ast.AST], Iterator[Finding]], code: str) -> None:
    assert list(find(ast.parse(code)))


@pytest.mark.parametrize(
    ("find", "code"),
    [
        (foreign_imports, "from .clock import Clock\nimport re\nfrom touchline.kernel import uuid7"),
        (started_processes, "import asyncio\nasyncio.create_task(work())"),
        (statements, '"""SELECT what you need."""\nprint("Select a row", "UPDATED", "WITHOUT")'),
    ],
)
def test_the_rules_leave_the_rest_alone(find: Callable[[ast.AST], Iterator[Finding]], code: str) -> None:
    assert not list(find(ast.parse(code)))


def test_no_role_has_the_codecs_or_the_readers_loaded() -> None:
    """Strangers' videos are parsed in the sandbox alone; also not by what was imported by way of something else."""
    apps = ("control", "node", "worker", "watch", "browser", "demonstration")
    roles = ", ".join([*(f"touchline.apps.{name}" for name in apps), "touchline.media.engines.file_reader"])
    load = f"import sys, {roles}; print({{'av', 'cv2', 'onnxruntime', 'rapidocr', 'tesserocr'}} & {{*sys.modules}})"
    result = subprocess.run([sys.executable, "-c", load], check=True, capture_output=True, text=True)
    assert result.stdout == "set()\n"


@cache
def parsed_sources() -> list[tuple[str, ast.AST]]:
    paths = sorted(SOURCES.rglob("*.py"))
    return [(path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text("utf-8"))) for path in paths]
