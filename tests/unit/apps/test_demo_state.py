"""Which day a demo plays: one that was broken off goes on, one that is over is played anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.apps.demonstration import State, after_its_world, read_state, write_state
from touchline.apps.settings import Loaded, Settings
from touchline.apps.up import roles
from touchline.platform.stack.part import StackRole

KICKED_OFF = "2026-03-14T15:00:00.000Z"


def test_a_day_that_was_broken_off_goes_on_in_the_same_world(tmp_path: Path) -> None:
    state = State(20_000, KICKED_OFF, 3)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state


def test_after_the_day_it_is_played_once_more_at_the_same_address(tmp_path: Path) -> None:
    write_state(tmp_path, State(20_000, KICKED_OFF).after_the_day())
    assert read_state(tmp_path) == State(20_000, None, 2)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"port": null}', '{"port": 1, "playing": []}'])
def test_without_a_readable_state_everything_begins_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "world.json").write_text(content)
    state = read_state(tmp_path)
    assert state.port > 1024
    assert (state.starts_at, state.playing) == (None, 1)


def test_what_an_earlier_version_left_is_its_first_day(tmp_path: Path) -> None:
    (tmp_path / "world.json").write_text(f'{{"port": 20000, "starts_at": "{KICKED_OFF}"}}')
    assert read_state(tmp_path) == State(20_000, KICKED_OFF, 1)


def test_whatever_asks_the_world_starts_when_it_answers() -> None:
    """Which roles do, the settings say: every address that the demo sets is read by one of these."""
    settings = Settings()
    ports = {
        name: getattr(settings, name).model_copy(update={"port": 20_000})
        for name in ("gateway", "node", "worker", "watch", "browser")
    }
    watching = settings.model_copy(update=ports | {"watch": ports["watch"].model_copy(update={"enabled": True})})
    world = StackRole("world", ["serve"], "http://127.0.0.1:1/world/clock")
    found = {role.name: role.needs for role in after_its_world(world, roles(Loaded(watching, {})))}
    assert next(iter(found)) == "world"
    assert {name for name, needs in found.items() if "world" in needs} == {"browser", "watch"}
    assert "control" in found["watch"]
