"""The commands of a person who begins: before the first start, and a start that fails."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.installation import Installation, temporary_installation


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
