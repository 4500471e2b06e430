"""What the sandbox does with a child that its input has taken over."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.sandboxes import LIMITS, Deed, Said, misbehaving
from tests.support.wait import eventually
from touchline.kernel import DeadlineExceeded, Defect, NotFound, SetupError, TouchlineError, Unavailable
from touchline.media.errors import CrashingVideo, MediaLimitExceeded, TruncatedVideo
from touchline.media.model import OutputFile
from touchline.media.sandbox import IsolationLevel, Pause, Program, Sandbox, Task
from touchline.media.sandbox.supervision import ChildProcess
from touchline.media.settings import MediaSettings
from touchline.process.queue.rules import failure_of

ROOT = Path(__file__).parents[3]
CALLER = """
import asyncio, sys
from tests.support.sandboxes import Deed, misbehaving
from touchline.media.sandbox import IsolationLevel

async def main(mark, enclosure):
    async with misbehaving(IsolationLevel(enclosure)) as sandbox:
        await Deed("hang", mark=mark).done(sandbox, lambda percent: print(percent, flush=True))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["hang", "multiply"])
async def test_a_child_that_hangs_is_ended_with_all_that_it_started(name: str, isolated_sandbox: Sandbox) -> None:
    deed = Deed(name).limited(wall_s=2)
    with pytest.raises(DeadlineExceeded, match="after 2 s of wall-clock time") as raised:
        await deed.done(isolated_sandbox)
    assert failure_of(raised.value).retryable, "a busy machine is no verdict on a video"
    assert deed.processes() == []


async def test_a_bare_child_that_hangs_is_ended(bare: Sandbox) -> None:
    deed = Deed("hang").limited(wall_s=2)
    with pytest.raises(DeadlineExceeded):
        await deed.done(bare)
    assert deed.processes() == []


async def test_a_cancelled_caller_takes_its_child_along(enclosed: Sandbox) -> None:
    deed, started = Deed("hang"), asyncio.Event()
    work = asyncio.create_task(deed.done(enclosed, lambda percent: started.set()))
    await started.wait()
    assert deed.processes()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert deed.processes() == []


async def test_a_caller_whose_own_code_fails_takes_its_child_along(enclosed: Sandbox) -> None:
    def fail(percent: int) -> None:
        raise LookupError("in the caller")

    deed = Deed("hang")
    with pytest.raises(LookupError):
        await deed.done(enclosed, fail)
    assert deed.processes() == []


def test_a_killed_caller_takes_its_child_along(enclosure: IsolationLevel) -> None:
    deed = Deed("hang")
    command = [sys.executable, "-c", CALLER, deed.mark, enclosure]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as caller:
        assert caller.stdout
        caller.stdout.readline()
        assert deed.processes()
        caller.kill()
    eventually(lambda: not deed.processes())


def session_niceness(process: psutil.Process) -> int | None:
    """None where the system does not count it."""
    told = Path(f"/proc/{process.pid}/autogroup")
    return int(told.read_text("ascii").split()[-1]) if told.exists() else None


@pytest.mark.parametrize("niceness", [0, 7])
async def test_a_child_stands_back_as_far_as_its_sandbox_says(niceness: int, enclosure: IsolationLevel) -> None:
    """By itself, and as the session that it belongs to, where processors are shared out by sessions."""
    deed, started = Deed("hang"), asyncio.Event()
    async with misbehaving(enclosure, niceness) as sandbox:
        work = asyncio.create_task(deed.done(sandbox, lambda percent: started.set()))
        await started.wait()
        [child] = deed.processes()
        assert child.nice() == niceness + psutil.Process().nice()
        assert session_niceness(child) in {None, niceness}
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


@pytest.mark.parametrize(
    ("deed", "error", "why"),
    [
        (Deed("grow"), MediaLimitExceeded, "memory"),
        (Deed("burn").limited(cpu_s=1), MediaLimitExceeded, "CPU time"),
        (Deed("crash"), CrashingVideo, "SIGSEGV"),
        (Deed("leave", {"code": 3}), CrashingVideo, "ended with 3"),
        (Deed("leave", {"code": 0}), CrashingVideo, "ended with 0"),
        (Deed("babble"), CrashingVideo, "an unknown message"),
        (Deed("drone"), CrashingVideo, "a line that is too long"),
        (Deed("flood"), CrashingVideo, "too many lines"),
        (Deed("lie"), Defect, "words"),
        (Deed("raise_defect"), Defect, "ZeroDivisionError: a mistake of ours"),
        (Deed("raise_failure", {"failure": "truncated"}), TruncatedVideo, "as asked"),
        (Deed("raise_failure", {"failure": "storage"}), Unavailable, "as asked"),
    ],
    ids=lambda value: value.name if isinstance(value, Deed) else None,
)
async def test_whose_fault_it_is(deed: Deed, error: type[TouchlineError], why: str, enclosed: Sandbox) -> None:
    with pytest.raises(TouchlineError, match=why) as raised:
        await deed.done(enclosed)
    assert type(raised.value) is error
    assert deed.processes() == []


async def test_what_the_system_kills_may_be_tried_again(enclosed: Sandbox) -> None:
    deed = Deed("hang")

    def kill(percent: int) -> None:
        for process in deed.processes():
            with suppress(psutil.NoSuchProcess):  # the first may have taken the others along
                process.kill()

    with pytest.raises(Unavailable, match="by the system"):
        await deed.done(enclosed, kill)


async def test_what_is_written_is_limited(enclosed: Sandbox, output: Path) -> None:
    with pytest.raises(MediaLimitExceeded, match="its output exceeds"):
        await Deed("overflow", output=output).done(enclosed)


@pytest.mark.parametrize(
    "names",
    [["../outside"], ["/etc/outside"], ["a/../../outside"], [".hidden"], ["a\0b"], ["x" * 300], [""], ["same", "same"]],
    ids=repr,
)
async def test_a_file_gets_no_name_that_leads_elsewhere(names: list[str], bare: Sandbox, output: Path) -> None:
    with pytest.raises(CrashingVideo, match="a file that it may not open"):
        await Deed("trespass", {"names": names}, output=output).done(bare)
    assert {path.name for path in output.parent.rglob("*")} <= {"output", "same"}


async def test_without_a_folder_nothing_is_written(bare: Sandbox) -> None:
    with pytest.raises(CrashingVideo, match="a file that it may not open"):
        await Deed("trespass", {"names": ["any"]}).done(bare)


async def test_files_that_are_not_taken_do_not_pile_up(bare: Sandbox, output: Path) -> None:
    with pytest.raises(CrashingVideo, match="did not receive"):
        await Deed("hoard", output=output).done(bare)


async def test_files_are_told_when_they_are_complete(enclosed: Sandbox, output: Path) -> None:
    told: list[OutputFile] = []
    options = {"names": ["first.txt", "folder/second.txt"], "mark": "complete"}
    outcome = await enclosed.run(Task("trespass", LIMITS, options, output=output, completed=told.append), Said)
    assert told == list(outcome.files) == [OutputFile("first.txt", 0), OutputFile("folder/second.txt", 0)]


async def test_processes_are_limited(isolation_level: IsolationLevel, isolated_sandbox: Sandbox) -> None:
    deed = Deed("fork_bomb", {"most": 200}).limited(processes=40)
    words = await deed.done(isolated_sandbox)
    if (
        isolation_level is IsolationLevel.ROOT or os.geteuid() != 0
    ):  # the kernel counts no processes of root, renamed or not
        assert 0 < words["started"] < 40
    assert deed.processes() == []


async def test_a_folder_that_is_not_empty_is_not_taken(bare: Sandbox, output: Path) -> None:
    (output / "other").touch()
    with pytest.raises(Defect, match="not empty"):
        await Deed("inspect", output=output).done(bare)


async def test_a_zygote_that_cannot_start_is_our_fault() -> None:
    async with Sandbox(MediaSettings(), Program("no_such_module")) as broken:
        with pytest.raises(SetupError, match="no_such_module"):
            await broken.run(Task("isolation", LIMITS), dict)


async def test_nothing_is_started_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    async with Sandbox(MediaSettings(), Program("no_such_module")) as broken:
        with pytest.raises(NotFound, match=r"missing\.mp4"):
            await broken.run(Task("probe", LIMITS, source=tmp_path / "missing.mp4"), dict)


async def test_a_killed_zygote_takes_its_children_along_and_is_started_again(isolation_level: IsolationLevel) -> None:
    deed, started = Deed("hang"), asyncio.Event()
    async with misbehaving(isolation_level) as sandbox:
        work = asyncio.create_task(deed.done(sandbox, lambda percent: started.set()))
        await started.wait()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it went with the one that was killed before it
                if process.name() == "bwrap":
                    process.kill()
        with pytest.raises(Unavailable, match="by the system"):
            await work
        assert psutil.wait_procs(deed.processes(), timeout=30)[1] == []  # the kernel takes its time with them
        assert (await Deed("inspect").done(sandbox))["process"] == 1


async def test_a_child_that_was_never_forked_leaves_no_pipe_open() -> None:
    """As when the zygote was killed a moment ago."""
    process, theirs = ChildProcess.prepared()
    process.close()
    with pytest.raises(BrokenPipeError):
        for _ in range(10):
            await asyncio.sleep(0)
            os.write(theirs[-1], b"last words")
    for descriptor in theirs:
        os.close(descriptor)


async def test_nothing_is_carried_over(isolated_sandbox: Sandbox) -> None:
    """Many at once and after each other: the same first process, the same descriptors, nobody else in sight."""
    first = await Deed("inspect").done(isolated_sandbox)
    again = await asyncio.gather(*(Deed("inspect").done(isolated_sandbox) for _ in range(8)))
    assert [words for words in again if words != first] == []
    assert first["process"] == 1


async def test_what_nobody_waits_for_stands_back_behind_the_others(enclosure: IsolationLevel) -> None:
    deed, started = Deed("hang"), asyncio.Event()
    async with misbehaving(enclosure, 5) as sandbox:
        work = asyncio.create_task(deed.done(sandbox.in_background(Pause()), lambda percent: started.set()))
        await started.wait()
        [child] = deed.processes()
        assert child.nice() == 19
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
