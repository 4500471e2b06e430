"""The commands of a person who begins: before the first start, a start that fails, and the demo."""

from __future__ import annotations

import signal
from collections.abc import Generator
from urllib.parse import quote, urlsplit

import pytest

from tests.support.installation import Installation, temporary_installation
from touchline.platform.stack.leftovers import find_leftovers
from touchline.platform.stack.status import report


@pytest.fixture
def fresh() -> Generator[Installation]:
    with temporary_installation() as installation:
        yield installation


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
