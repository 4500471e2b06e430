from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from touchline import __version__
from touchline.apps import cli
from touchline.apps.cli import run, stack
from touchline.apps.cli.command import show_error, show_table
from touchline.kernel import InvalidInput, NotFound, TouchlineError, errors, surface

# What help may load: typer and what it needs. Anything else makes every command slow to start.
LIGHT = {"annotated_doc", "shellingham", "touchline", "touchline_world", "typer", "typing_extensions"}
SHOW_HELP = """
import sys
before = set(sys.modules)
from touchline.apps.cli import run
run(["--help"])
print(*(set(sys.modules) - before), file=sys.stderr)
"""

LEAVE_WITH_TEMPORAL = """
import atexit, temporalio.client
from touchline.apps.cli import main
atexit.register(print, "the interpreter is taken apart")
main(["version"])
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith("TOUCHLINE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    """Makes `touchline version` fail in a way that nobody foresaw."""

    def fail(text: str) -> None:
        raise ZeroDivisionError(f"Bearer token-of-{text}")

    monkeypatch.setattr(cli, "show", fail)
    return ZeroDivisionError


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


def test_config_shows_values_and_sources(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["config"]) == 0
    assert f"data = {tmp_path}   (environment TOUCHLINE_DATA)" in capsys.readouterr().out


def test_config_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["config", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["value"] == str(tmp_path)
    assert first["source"] == {"origin": "environment", "place": "TOUCHLINE_DATA"}


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Usage: touchline" in capsys.readouterr().out


@pytest.mark.parametrize("error", [error("it broke", why="because") for error in errors.error_classes()])
def test_every_error_has_its_exit_code(monkeypatch: pytest.MonkeyPatch, error: TouchlineError) -> None:
    def fail(text: str) -> None:
        raise error

    monkeypatch.setattr(cli, "show", fail)
    assert run(["version"]) == errors.surface(error).exit


def test_a_full_disk_is_no_defect(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As Python says it, wherever a command writes a file."""

    def fail(text: str) -> None:
        with Path("/dev/full").open("w") as file:
            file.write(text)

    monkeypatch.setattr(cli, "show", fail)
    assert run(["version"]) == errors.SURFACES["storage_full"].exit
    assert "the disk is full" in capsys.readouterr().err


def test_an_error_says_what_why_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(NotFound("no such clip", why="it was deleted\nyesterday"), as_json=False)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: no such clip",
        "  why: it was deleted",
        "       yesterday",
        " next: Check the URL or the id. It may have been deleted.",
    ]


@pytest.mark.parametrize("arguments", [["config", "--jsn"], ["confg"], ["config", "extra"]])
def test_a_mistyped_command_is_invalid_input(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(arguments) == 2
    assert "next: Add `--help`" in capsys.readouterr().err


def test_an_error_of_a_program_is_one_json_document_on_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHLINE_POSTGRES_POOL_SIZE", "many")
    assert run(["config", "--json"]) == 8
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert (error["code"], error["retryable"]) == ("misconfigured", False)
    assert captured.err == ""


def test_an_unforeseen_error_is_a_defect_without_traceback_or_secrets(
    capsys: pytest.CaptureFixture[str], failing: type[Exception]
) -> None:
    assert run(["version"]) == 1
    shown = capsys.readouterr().err
    assert failing.__name__ in shown
    assert "Traceback" not in shown
    assert "token-of" not in shown


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_traceback_comes_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, failing: type[Exception], by_flag: bool
) -> None:
    monkeypatch.setenv("TOUCHLINE_DEBUG", "" if by_flag else "1")
    assert run(["--verbose", "version"] if by_flag else ["version"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_command_leaves_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "show", interrupt)
    assert run(["config"]) == 130


def test_help_loads_nothing_heavy() -> None:
    result = subprocess.run([sys.executable, "-c", SHOW_HELP], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in result.stderr.split()}
    assert loaded - sys.stdlib_module_names <= LIGHT


def test_the_module_is_the_same_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "touchline", "version", "--json"], check=True, capture_output=True, text=True
    )
    assert json.loads(result.stdout) == {"version": __version__}


def test_a_table_lines_up_and_its_last_column_runs_free(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("NAME", "STATE", "NOTE"), [("postgres", "ready", "a long note"), ("objects", "", "")])
    assert capsys.readouterr().out == "NAME      STATE  NOTE\npostgres  ready  a long note\nobjects\n"


def test_threads_of_temporal_never_meet_an_interpreter_that_is_taken_apart() -> None:
    """They would abort the process, or hang it: now and then, so that the cause is what is looked at."""
    result = subprocess.run([sys.executable, "-c", LEAVE_WITH_TEMPORAL], check=True, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == (f"{__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [["search", "\udcff"], ["upload", "m\udce4tch.mp4"], ["jobs", "show", "\ud800", "--json"], ["\udc80"]]
)
def test_bytes_that_are_no_text_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As the shell hands on what is not UTF-8."""
    assert run(arguments) == surface(InvalidInput("")).exit
    said = capsys.readouterr()
    assert "an argument is not valid text" in said.out + said.err
