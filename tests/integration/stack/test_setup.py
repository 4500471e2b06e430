"""What stops a start before it begins, and what does not."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.stack import StackPlan, running_stack, temporary_root
from touchline.platform.stack.status import PartState


def complaint(plan: StackPlan) -> str:
    with running_stack(plan, ready=False) as stack:
        return stack.complaint()


@pytest.fixture(scope="module")
def plan() -> Generator[StackPlan]:
    """A stack that ran once. Whoever spoils it mends it."""
    with temporary_root() as root:
        plan = StackPlan(root, only={"postgres"})
        with running_stack(plan) as stack:
            stack.stop()
        yield plan


def test_data_of_another_version_is_refused(plan: StackPlan) -> None:
    version = plan.root / "postgres" / "data" / "PG_VERSION"
    right = version.read_text()
    version.write_text("17\n")
    message = complaint(plan)
    version.write_text(right)
    assert "setup: the data in" in message
    assert "was written by PostgreSQL 17" in message


def test_data_without_its_secrets_is_refused(plan: StackPlan) -> None:
    secrets = plan.root / "secrets.json"
    aside = secrets.rename(plan.root.with_name("secrets.json"))
    message, made = complaint(plan), secrets.exists()
    aside.rename(secrets)
    assert "secrets.json is missing" in message
    assert not made


def test_a_lock_file_with_the_number_of_another_program_is_no_obstacle(plan: StackPlan) -> None:
    """After a reboot the number in it may be anybody's."""
    (plan.root / "postgres" / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n")
    with running_stack(plan) as stack:
        assert stack.part("postgres").state is PartState.READY


def test_a_start_that_was_cut_off_in_the_middle_begins_anew(root: Path) -> None:
    draft = root / "postgres" / "data.draft"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").touch()
    (root / ".touchline").touch()
    with running_stack(StackPlan(root, only={"postgres"})) as stack:
        assert stack.part("postgres").state is PartState.READY
    assert not draft.exists()


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    assert complaint(StackPlan(tmp_path, only={"postgres"})).startswith("misconfigured: ")


def test_a_disk_without_room_for_the_object_store_is_said_at_once(root: Path) -> None:
    message = complaint(StackPlan(root, settings={"objects_free_space": "1000PB"}))
    assert message.startswith("setup: not enough disk space")
    assert str(root) in message
    assert "Free some space" in message
    assert not (root / "postgres").exists()


if os.geteuid() == 0:

    def test_a_folder_that_the_service_user_cannot_reach_is_said_and_not_opened(tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        message = complaint(StackPlan(tmp_path / "data", only={"postgres"}))
        assert message.startswith("misconfigured: the user nobody cannot reach the data folder")
        assert "is closed to it" in message
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700

    @pytest.mark.parametrize(
        ("user", "what"), [("absent-user", "there is no user 'absent-user'"), ("root", "'root' is root")]
    )
    def test_a_service_user_that_will_not_do_is_said(root: Path, user: str, what: str) -> None:
        message = complaint(StackPlan(root, only={"postgres"}, settings={"service_user": user}))
        assert message.startswith(f"misconfigured: {what}")
