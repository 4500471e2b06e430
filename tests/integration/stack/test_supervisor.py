"""The supervisor with small roles instead of servers: order, restarts, stopping and being killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from tests.support.stack import RunningStack, StackPlan, running_stack
from tests.support.wait import eventually
from touchline.platform.settings import StackSettings
from touchline.platform.stack.doctor import FindingLevel, run_checks
from touchline.platform.stack.folder import choose_ports
from touchline.platform.stack.logs import tail
from touchline.platform.stack.part import StackRole
from touchline.platform.stack.stack import Stack
from touchline.platform.stack.status import (
    REAPER,
    PartState,
    StackPhase,
    find_orphans,
    probe_roles,
    read_state,
    stack_report,
)

MODULE = "tests.integration.stack.role"


class Cast:
    """Makes roles, and reads what they noted."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / "journal"
        self._ports = choose_ports(folder / "roles.json", ["one", "two", "three"])

    def role(self, name: str, *options: str, needs: tuple[str, ...] = ()) -> StackRole:
        port = self._ports[name]
        arguments = ["--name", name, "--port", str(port), "--journal", str(self.journal), *options]
        return StackRole(name, [sys.executable, "-m", MODULE, *arguments], f"http://127.0.0.1:{port}/", needs)

    def notes(self) -> list[str]:
        return self.journal.read_text().splitlines() if self.journal.exists() else []


@pytest.fixture
def cast(tmp_path: Path) -> Cast:
    return Cast(tmp_path)


@pytest.fixture
def one(root: Path, cast: Cast) -> Generator[RunningStack]:
    with running_stack(StackPlan(root, only=(), roles=(cast.role("one"),))) as stack:
        yield stack


def log_of(stack: RunningStack, part: str = "supervisor") -> str:
    return "\n".join(line.text for line in tail(stack.folder.log(part), part, 100))


def test_roles_start_after_those_they_need_and_stop_when_asked(root: Path, cast: Cast) -> None:
    roles = (cast.role("two", needs=("one",)), cast.role("one"), cast.role("three", needs=("two", "absent")))
    with running_stack(StackPlan(root, only=(), roles=roles)) as stack:
        assert cast.notes() == ["one started", "two started", "three started"]
        assert [stack.part(name).state for name in ("one", "two", "three")] == [PartState.READY] * 3
        assert stack.stop() == 0
        assert sorted(cast.notes()[3:]) == ["one stopped", "three stopped", "two stopped"]
    assert not find_orphans(stack.folder)


def test_the_last_state_says_that_everything_is_stopped(one: RunningStack) -> None:
    one.stop()
    state = read_state(one.folder.state)
    assert state
    assert state.phase is StackPhase.STOPPED
    assert [(part.state, part.pid) for part in state.parts] == [(PartState.STOPPED, None)]


def test_a_killed_role_is_started_again(one: RunningStack, cast: Cast) -> None:
    before = one.part("one").pid
    assert before
    os.kill(before, signal.SIGKILL)
    eventually(lambda: one.part("one").state is PartState.READY and one.part("one").pid != before)
    assert one.part("one").restarts == 1
    assert cast.notes() == ["one started", "one started"]
    assert "one ended: killed by SIGKILL; it starts again in" in log_of(one)


QUICK = {"health_interval": "50ms", "health_timeout": "200ms", "role_stop_grace": "200ms"}


def test_a_role_that_hangs_is_stopped_and_started_again(root: Path, cast: Cast) -> None:
    settings = QUICK | {"hung_after": "300ms"}
    with running_stack(StackPlan(root, only=(), settings=settings, roles=(cast.role("one"),))) as stack:
        before = stack.part("one").pid
        assert before
        os.kill(before, signal.SIGSTOP)
        eventually(lambda: stack.part("one").state is PartState.READY and stack.part("one").pid != before)
        assert not psutil.pid_exists(before)
        assert stack.part("one").restarts == 1
        assert cast.notes() == ["one started", "one started"]
    assert "one does not answer: no answer within" in log_of(stack) or "one does not answer: timed out" in log_of(stack)
    assert "one ended: it hangs: no successful health check for" in log_of(stack)


def test_a_role_that_answers_again_in_time_is_left_alone(root: Path, cast: Cast) -> None:
    settings = QUICK | {"hung_after": "1h"}
    with running_stack(StackPlan(root, only=(), settings=settings, roles=(cast.role("one"),))) as stack:
        before = stack.part("one").pid
        assert before
        os.kill(before, signal.SIGSTOP)
        eventually(lambda: stack.part("one").state is PartState.UNHEALTHY)
        shown = asyncio.run(probe_roles(stack_report(stack.folder)))
        assert not shown.all_ready
        os.kill(before, signal.SIGCONT)
        eventually(lambda: stack.part("one").state is PartState.READY)
        assert (stack.part("one").pid, stack.part("one").restarts) == (before, 0)
        assert asyncio.run(probe_roles(stack_report(stack.folder))).all_ready
    assert "one answers again" in log_of(stack)


def test_a_role_that_hangs_is_shown_as_such_before_the_supervisor_asks_it(one: RunningStack) -> None:
    pid = one.part("one").pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    shown = asyncio.run(probe_roles(stack_report(one.folder)))
    findings = asyncio.run(run_checks(Stack(one.folder, StackSettings())))
    os.kill(pid, signal.SIGCONT)
    [part] = shown.parts
    assert (part.status.state, one.part("one").state) == (PartState.UNHEALTHY, PartState.READY)
    assert "timed out" in part.status.detail or "no answer" in part.status.detail
    assert {finding.level for finding in findings if finding.check == "one"} == {FindingLevel.FAIL}


def test_what_a_killed_role_had_started_goes_with_it(root: Path, cast: Cast) -> None:
    with running_stack(StackPlan(root, only=(), roles=(cast.role("one", "--child"),))) as stack:
        before = stack.part("one").pid
        assert before
        [child] = psutil.Process(before).children()
        os.kill(before, signal.SIGKILL)
        eventually(lambda: not child.is_running())


def test_a_role_that_cannot_start_is_tried_again_and_again_and_says_why(root: Path, cast: Cast) -> None:
    settings = {"restart_delay": "10ms"}
    plan = StackPlan(root, only=(), settings=settings, roles=(cast.role("one", "--broken"), cast.role("two")))
    with running_stack(plan, ready=False) as stack:
        eventually(lambda: stack.state and stack.part("one").restarts >= 3)
        eventually(lambda: "it is broken" in stack.part("one").detail)
        eventually(lambda: "one ended 3 times in a row: code 1: it is broken" in log_of(stack))
        eventually(lambda: stack.part("two").state is PartState.READY)
        assert stack.state
        assert stack.state.phase is StackPhase.STARTING


def test_a_stubborn_role_is_killed_when_its_time_is_up(root: Path, cast: Cast) -> None:
    plan = StackPlan(root, only=(), settings={"role_stop_grace": "200ms"}, roles=(cast.role("one", "--stubborn"),))
    with running_stack(plan) as stack:
        assert stack.stop() == 0
    assert "one did not stop in time and is killed" in log_of(stack)
    assert cast.notes() == ["one started"]


def test_a_second_signal_kills_at_once(root: Path, cast: Cast) -> None:
    plan = StackPlan(root, only=(), settings={"role_stop_grace": "1h"}, roles=(cast.role("one", "--stubborn"),))
    with running_stack(plan) as stack:
        stack.process.send_signal(signal.SIGTERM)
        eventually(lambda: stack.part("one").state is PartState.STOPPING)
        stack.process.send_signal(signal.SIGTERM)
        assert stack.process.wait() == 0


def test_a_second_supervisor_is_refused_and_the_first_stays(one: RunningStack) -> None:
    with running_stack(one.plan, ready=False) as second:
        assert second.complaint().startswith("conflict: the stack is already running")
    assert one.process.poll() is None
    assert one.part("one").state is PartState.READY


def test_nothing_outlives_a_killed_supervisor(root: Path, cast: Cast) -> None:
    plan = StackPlan(root, only=(), roles=(cast.role("one", "--child"), cast.role("two", "--stubborn")))
    with running_stack(plan) as stack:
        assert len(find_orphans(stack.folder)) == 3
        stack.kill()
        assert not find_orphans(stack.folder)
    with running_stack(plan) as again:
        assert again.part("two").state is PartState.READY


def test_leftovers_of_an_earlier_run_are_ended_first(root: Path, cast: Cast) -> None:
    plan = StackPlan(root, only=(), roles=(cast.role("one", "--child"),))
    with running_stack(plan) as stack:
        pid = stack.part("one").pid
        assert pid
        [child] = psutil.Process(pid).children()
        processes = psutil.Process(stack.process.pid).children()
        [reaper] = [process for process in processes if str(REAPER) in process.cmdline()]
        reaper.kill()
        stack.process.kill()
        stack.process.wait()
        assert child.is_running()
    with running_stack(plan):
        assert not child.is_running()


def test_the_terminal_reaches_the_supervisor_alone(one: RunningStack) -> None:
    pid = one.part("one").pid
    assert pid
    assert os.getpgid(pid) != os.getpgid(one.process.pid)
    assert os.getsid(pid) != os.getsid(one.process.pid)
