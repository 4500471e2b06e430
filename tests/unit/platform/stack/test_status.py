from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.status import (
    PartState,
    PartStatus,
    StackPhase,
    StackState,
    StateWriter,
    hold_lock,
    read_state,
    stack_report,
)

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
PART = PartStatus("postgres", "server", PartState.STARTING, NOW, ports={"postgres": 15432})
ELSEWHERE = PartStatus("objects", "server", PartState.OUTSIDE, NOW, address="https://s3.example")
STATE = StackState(1, NOW, StackPhase.STARTING, (PART, ELSEWHERE))


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "data")
    folder.create(None)
    return folder


def test_every_change_can_be_read_at_once(folder: DataFolder) -> None:
    board = StateWriter(folder.state, STATE)
    assert read_state(folder.state) == STATE
    ready = replace(PART, state=PartState.READY, pid=42)
    board.show(ready)
    board.phase(StackPhase.READY)
    assert read_state(folder.state) == replace(STATE, phase=StackPhase.READY, parts=(ready, ELSEWHERE))


@pytest.mark.parametrize("text", ["", "{}", '{"pid": 1}'])
def test_what_an_other_version_wrote_is_no_state(folder: DataFolder, text: str) -> None:
    folder.state.write_text(text)
    assert read_state(folder.state) is None


def test_a_stack_that_was_never_started(folder: DataFolder) -> None:
    found = stack_report(folder)
    assert (found.phase, found.detail, found.parts) == (StackPhase.STOPPED, "it was never started", ())
    assert not found.all_ready


def test_the_lock_tells_a_killed_supervisor_from_a_living_one(folder: DataFolder) -> None:
    ready = replace(PART, state=PartState.READY, pid=2**22)  # no process has this number
    StateWriter(folder.state, replace(STATE, phase=StackPhase.READY, parts=(ready, ELSEWHERE)))
    with hold_lock(folder):
        assert stack_report(folder).all_ready
    found = stack_report(folder)
    assert not found.all_ready
    assert "was killed" in found.detail
    assert [part.status.state for part in found.parts] == [PartState.STOPPED, PartState.OUTSIDE]


@pytest.mark.parametrize("state", [PartState.READY, PartState.UNHEALTHY, PartState.STARTING, PartState.RESTARTING])
def test_a_part_that_has_less_space_than_it_needs_says_so(folder: DataFolder, state: PartState) -> None:
    """The object store writes nothing more long before the disk is full, and PostgreSQL cannot even start."""
    enough, folder_of_both = replace(PART, state=PartState.READY), folder.of(PART.name)
    folder_of_both.mkdir()
    folder.of("objects").symlink_to(folder_of_both)
    short = replace(enough, name="objects", state=state, detail="a consequence", least_free_bytes=10**18)
    StateWriter(folder.state, replace(STATE, phase=StackPhase.READY, parts=(enough, short)))
    with hold_lock(folder):
        found = stack_report(folder)
    assert [part.status.state for part in found.parts] == [PartState.READY, PartState.DISK_FULL]
    assert found.parts[1].status.detail.endswith("and it needs 953674316406 MiB; free some space")
    assert not found.all_ready
