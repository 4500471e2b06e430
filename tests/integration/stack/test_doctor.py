from __future__ import annotations

import os
import signal
import socket
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from touchline.platform.endpoints import ClickHouseEndpoint, ObjectsEndpoint, TemporalEndpoint
from touchline.platform.settings import StackSettings
from touchline.platform.stack.doctor import DoctorFinding, FindingLevel, run_checks
from touchline.platform.stack.folder import DataFolder, read_ports
from touchline.platform.stack.stack import OutsideEndpoints, Stack

SETTINGS = StackSettings()


@pytest.fixture(scope="module")
def running() -> Generator[RunningStack]:
    with temporary_root() as root, running_stack(StackPlan(root, only={"postgres", "temporal"})) as stack:
        yield stack


async def findings(stack: Stack) -> dict[str, DoctorFinding]:
    found = await run_checks(stack)
    assert all(finding.fix for finding in found if finding.level is not FindingLevel.OK), "each says how to fix it"
    return {finding.check: finding for finding in found}


async def test_before_the_first_start_nothing_is_wrong_and_nothing_is_made(root: Path) -> None:
    found = await findings(Stack(DataFolder(root), SETTINGS))
    assert FindingLevel.FAIL not in {finding.level for finding in found.values()}
    assert found["folder"].fix == "Run `touchline up`, which creates it."
    assert list(root.parent.iterdir()) == []


async def test_a_running_stack_is_asked_part_by_part(running: RunningStack) -> None:
    stack = Stack(running.folder, SETTINGS)
    found = await findings(stack)
    assert {name for name, finding in found.items() if finding.level is not FindingLevel.OK} == {"temporal access"}
    assert {"postgres", "temporal"} <= found.keys()


async def test_who_can_use_temporal_is_said_plainly(running: RunningStack) -> None:
    found = await findings(Stack(running.folder, SETTINGS))
    assert found["temporal access"].what == "every user of this machine can read, start and end workflows"
    assert "temporal.address" in found["temporal access"].fix
    where = running.endpoints.temporal
    plain = await findings(Stack(running.folder, SETTINGS, OutsideEndpoints(temporal=where)))
    assert plain["temporal access"].what.startswith(f"everyone who reaches {where.address} can ")
    assert "temporal.tls" in plain["temporal access"].fix
    secure = OutsideEndpoints(temporal=replace(where, tls=True))
    assert "temporal access" not in await findings(Stack(running.folder, SETTINGS, secure))


async def test_too_little_room_for_the_object_store_is_a_failure(root: Path) -> None:
    found = await findings(Stack(DataFolder(root), StackSettings.model_validate({"objects_free_space": "1000PB"})))
    assert (found["disk"].level, found["disk"].what) == (FindingLevel.FAIL, "not enough disk space")


async def test_a_part_that_hangs_is_found(running: RunningStack) -> None:
    pid = running.part("temporal").pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    found = await findings(Stack(running.folder, SETTINGS))
    os.kill(pid, signal.SIGCONT)
    assert found["temporal"].level is FindingLevel.FAIL
    assert "touchline logs temporal" in found["temporal"].fix
    assert found["postgres"].level is FindingLevel.OK


async def test_what_is_wrong_with_a_stopped_stack(root: Path) -> None:
    with running_stack(StackPlan(root, only={"temporal"})) as stopped:
        stopped.kill()
    stopped.folder.root.chmod(0o755)
    stopped.folder.secrets.chmod(0o644)
    stack = Stack(stopped.folder, StackSettings.model_validate({"least_free_space": "1000PB"}))
    with socket.create_server(("127.0.0.1", read_ports(stopped.folder.ports)["postgres"])):
        found = await findings(stack)
    assert found["supervisor"].what == "it was killed while the stack was running"
    assert found["folder"].fix.startswith(f"Run `chmod 700 {stopped.folder.root}`")
    assert found["secrets"].level is FindingLevel.FAIL
    assert "chmod 600" in found["secrets"].fix
    assert found["disk"].level is FindingLevel.WARN
    assert "postgres" in found["ports"].what


async def test_outside_parts_are_asked_as_well(running: RunningStack) -> None:
    where = running.endpoints
    postgres = replace(where.postgres, app_url=where.postgres.app_url.replace("touchline_app", "stranger"))
    nowhere = OutsideEndpoints(
        postgres=postgres,
        temporal=TemporalEndpoint("127.0.0.1:1", "default"),
        objects=ObjectsEndpoint("http://127.0.0.1:1", "bucket", "us-east-1", "key", "secret"),
        clickhouse=ClickHouseEndpoint("http://127.0.0.1:1", "default", "user", "password"),
    )
    folder = DataFolder(running.folder.root / "other")
    there = await findings(Stack(folder, SETTINGS, OutsideEndpoints(postgres=where.postgres, temporal=where.temporal)))
    assert {there[name].level for name in ("postgres", "temporal")} == {FindingLevel.OK}
    lost = await findings(Stack(folder, SETTINGS, nowhere))
    assert {lost[name].level for name in ("postgres", "temporal", "objects", "clickhouse")} == {FindingLevel.FAIL}
    assert "password authentication failed" in lost["postgres"].why
