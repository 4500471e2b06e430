"""The commands of a person: one installation through its life, and what is said when something is wrong."""

from __future__ import annotations

import signal
from collections.abc import Generator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.support.installation import PARTS, Installation, temporary_installation
from touchline.platform.stack.leftovers import find_leftovers
from touchline.platform.stack.status import report


@pytest.fixture(scope="module")
def installed() -> Generator[tuple[Installation, Any]]:
    """A running one, and what `up` said."""
    with temporary_installation() as installation:
        yield installation, installation.up()


@pytest.fixture
def fresh() -> Generator[Installation]:
    with temporary_installation() as installation:
        yield installation


def test_up_returns_when_everything_is_ready_and_greets(installed: tuple[Installation, Any]) -> None:
    _, document = installed
    assert document["ready"]
    assert [part["name"] for part in document["parts"]] == PARTS
    assert any("/sign-in" in line for line in document["greeting"])


def test_the_greeting_is_in_no_file(installed: tuple[Installation, Any]) -> None:
    installation, document = installed
    [link] = [line.split()[-1] for line in document["greeting"] if "/sign-in" in line]
    files = [*installation.folder.logs.iterdir(), *installation.folder.run.iterdir()]
    assert not [file for file in files if link in file.read_text(errors="replace")]


def test_status_shows_every_part_with_its_memory(installed: tuple[Installation, Any]) -> None:
    code, document = installed[0].run("status")
    assert code == 0
    assert [part["name"] for part in document["parts"]] == PARTS
    assert {part["state"] for part in document["parts"]} == {"ready"}
    assert all(part["memory_bytes"] > 1_000_000 for part in document["parts"])


def test_doctor_finds_nothing(installed: tuple[Installation, Any]) -> None:
    code, findings = installed[0].run("doctor")
    assert code == 0
    assert {finding["level"] for finding in findings} == {"ok"}
    assert set(PARTS) <= {finding["check"] for finding in findings}


def test_logs_of_all_parts_or_of_one(installed: tuple[Installation, Any]) -> None:
    code, lines = installed[0].run("logs", "--lines", "100000")
    assert code == 0
    assert {*PARTS, "supervisor"} >= {line["part"] for line in lines} >= {"supervisor", "postgres", "objects"}
    assert lines == sorted(lines, key=lambda line: line["at"])
    code, lines = installed[0].run("logs", "supervisor", "-n", "1")
    assert [line["text"] for line in lines] == ["everything is ready"]


def test_logs_can_be_followed(installed: tuple[Installation, Any]) -> None:
    with installed[0].start("logs", "supervisor", "--follow", "-n", "1") as process:
        assert process.stdout
        assert "everything is ready" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [(["logs", "absent"], 3, "not_found"), (["logs", "--follow"], 2, "invalid_input"), (["up"], 5, "conflict")],
)
def test_what_cannot_be_done_is_said(
    installed: tuple[Installation, Any], arguments: list[str], exit_code: int, error: str
) -> None:
    code, document = installed[0].run(*arguments)
    assert (code, document["error"]["code"]) == (exit_code, error)


def test_before_the_first_start(fresh: Installation) -> None:
    assert fresh.run("down") == (0, {"stopped": False})
    code, document = fresh.run("status")
    assert (code, document["detail"]) == (7, "it was never started")
    assert fresh.run("logs") == (0, [])
    assert fresh.run("doctor")[0] == 0


def test_what_stops_a_detached_start_is_passed_on(fresh: Installation) -> None:
    fresh.folder.create(None)
    fresh.folder.secrets.write_text("{}")
    fresh.folder.secrets.chmod(0o644)
    code, document = fresh.run("up", "--detach")
    assert (code, document["error"]["code"]) == (8, "setup")
    assert document["error"]["next"].startswith("Run `chmod 600")
    assert fresh.run("doctor")[0] == 8


def test_the_demo_shows_a_video_and_keeps_running_until_ctrl_c(fresh: Installation) -> None:
    with fresh.start("demo", "--no-open") as process:
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        video = next(line.split()[-1] for line in lines if line.startswith("The video plays at"))
        link = next(line.split()[-1] for line in lines if line.startswith("Sign in and watch it"))
        assert f"next={quote(urlsplit(video).path, safe='')}#token=" in link
        assert report(fresh.folder).all_ready
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "ready" in errors.splitlines()
    code, document = fresh.run("status")
    assert (code, document["phase"], document["detail"]) == (7, "stopped", "")
    assert not find_leftovers(fresh.folder)
