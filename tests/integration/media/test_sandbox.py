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

from tests.support.sandboxes import Deed
from tests.support.waiting import eventually
from touchline.kernel.errors import Defect, SetupError, TouchlineError, Unavailable
from touchline.media.errors import CrashingVideo, MediaLimitExceeded, TruncatedVideo
from touchline.media.sandbox import Enclosure, Program, Sandbox, Task
from touchline.media.settings import MediaSettings

ROOT = Path(__file__).parents[3]
CALLER = """
import asyncio, sys
from tests.support.sandboxes import Deed
from touchline.media.sandbox import Enclosure

mark, enclosure = sys.argv[1:]
started = lambda percent: print(percent, flush=True)
asyncio.run(Deed("hang", mark=mark).done(Enclosure(enclosure), started))
"""


@pytest.mark.parametrize("name", ["hang", "multiply"])
async def test_a_child_that_hangs_is_ended_with_all_that_it_started(name: str, walled: Enclosure) -> None:
    deed = Deed(name).limited(wall_s=2)
    with pytest.raises(MediaLimitExceeded, match="longer than 2 s"):
        await deed.done(walled)
    assert deed.processes() == []


async def test_a_bare_child_that_hangs_is_ended() -> None:
    deed = Deed("hang").limited(wall_s=2)
    with pytest.raises(MediaLimitExceeded):
        await deed.done(Enclosure.BARE)
    assert deed.processes() == []


async def test_a_cancelled_caller_takes_its_child_along(enclosure: Enclosure) -> None:
    deed, started = Deed("hang"), asyncio.Event()
    work = asyncio.create_task(deed.done(enclosure, lambda percent: started.set()))
    await started.wait()
    assert deed.processes()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert deed.processes() == []


async def test_a_caller_whose_own_code_fails_takes_its_child_along(enclosure: Enclosure) -> None:
    def fail(percent: int) -> None:
        raise LookupError("in the caller")

    deed = Deed("hang")
    with pytest.raises(LookupError):
        await deed.done(enclosure, fail)
    assert deed.processes() == []


def test_a_killed_caller_takes_its_child_along(enclosure: Enclosure) -> None:
    deed = Deed("hang")
    command = [sys.executable, "-c", CALLER, deed.mark, enclosure]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as caller:
        assert caller.stdout
        caller.stdout.readline()
        assert len(deed.processes()) > 1
        caller.kill()
    eventually(lambda: not deed.processes())


@pytest.mark.parametrize(
    ("deed", "error", "why"),
    [
        (Deed("grow"), MediaLimitExceeded, "memory"),
        (Deed("burn").limited(cpu_s=1), MediaLimitExceeded, "processor time"),
        (Deed("crash"), CrashingVideo, "SIGSEGV"),
        (Deed("leave", {"code": 3}), CrashingVideo, "ended with 3"),
        (Deed("leave", {"code": 0}), CrashingVideo, "ended with 0"),
        (Deed("babble"), CrashingVideo, "a message that it does not have"),
        (Deed("drone"), CrashingVideo, "a line without end"),
        (Deed("flood"), CrashingVideo, "too many lines"),
        (Deed("lie"), Defect, "words"),
        (Deed("raise_defect"), Defect, "ZeroDivisionError: a mistake of ours"),
        (Deed("raise_failure", {"failure": "truncated"}), TruncatedVideo, "as asked"),
        (Deed("raise_failure", {"failure": "storage"}), Unavailable, "as asked"),
    ],
    ids=lambda value: value.name if isinstance(value, Deed) else None,
)
async def test_whose_fault_it_is(deed: Deed, error: type[TouchlineError], why: str, enclosure: Enclosure) -> None:
    with pytest.raises(TouchlineError, match=why) as raised:
        await deed.done(enclosure)
    assert type(raised.value) is error
    assert deed.processes() == []


async def test_what_the_system_kills_may_be_tried_again(enclosure: Enclosure) -> None:
    deed = Deed("hang")

    def kill(percent: int) -> None:
        for process in deed.processes():
            with suppress(psutil.NoSuchProcess):  # the first may have taken the others along
                process.kill()

    with pytest.raises(Unavailable, match="by the system"):
        await deed.done(enclosure, kill)


async def test_what_is_written_is_limited(enclosure: Enclosure, output: Path) -> None:
    with pytest.raises(MediaLimitExceeded, match="bytes are made of it"):
        await Deed("overflow", output=output).done(enclosure)


async def test_a_link_is_no_file(enclosure: Enclosure, output: Path, tmp_path: Path) -> None:
    """Whoever stores the output would read what it points at, as themselves."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with pytest.raises(CrashingVideo, match="no file"):
        await Deed("link", {"target": str(secret)}, output=output).done(enclosure)


async def test_processes_are_limited(walled: Enclosure) -> None:
    deed = Deed("fork_bomb", {"most": 200}).limited(processes=40)
    words = await deed.done(walled)
    if walled is Enclosure.ROOT or os.geteuid() != 0:  # the kernel counts no processes of root, renamed or not
        assert 0 < words["started"] < 40
    assert deed.processes() == []


async def test_a_folder_that_is_not_empty_is_not_lent(sandbox: Sandbox, output: Path) -> None:
    (output / "other").touch()
    with pytest.raises(Defect, match="not empty"):
        await Deed("inspect", output=output).done(Enclosure.BARE)


async def test_a_child_that_cannot_start_is_our_fault() -> None:
    broken = Sandbox(MediaSettings(), Program("no_such_module"))
    with pytest.raises(SetupError, match="no_such_module"):
        await broken.run(Task("walls", Deed("hang").limits), dict)
