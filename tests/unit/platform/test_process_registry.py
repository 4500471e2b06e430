from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.platform.process_registry import (
    ProcessRecord,
    ProcessRegistry,
    file_system_type,
    proves_death,
    register_process,
)

HERE = ProcessRecord("here/1/a", "boot", "machine")
MOUNTS = """\
22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
23 22 0:21 / /proc rw - proc proc rw
30 22 0:40 / /srv rw - nfs4 store:/srv rw
31 30 0:41 / /srv/fast\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /srv/under rw - xfs /dev/sdc rw
33 32 0:43 / /srv/under rw - fuse.sshfs host: rw
"""
LIVING = """
import sys
from pathlib import Path
from touchline.platform.process_registry import register_process
with register_process(Path(sys.argv[1]), sys.argv[2]):
    print("there", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("case", "record", "is_local", "dead"),
    [
        ("the same start of the machine", ProcessRecord("here/1/b", "boot", "machine"), True, True),
        ("the process id is used again", ProcessRecord("here/1/c", "boot", "machine"), True, True),
        ("before the machine was started again", ProcessRecord("here/1/b", "earlier", "machine"), True, True),
        ("a container without a machine id", ProcessRecord("here/1/b", "boot", ""), True, True),
        ("itself", HERE, True, False),
        ("another machine", ProcessRecord("here/1/b", "other", "other"), True, False),
        ("another machine without an id", ProcessRecord("here/1/b", "other", ""), True, False),
        ("a disk that others see, too", ProcessRecord("here/1/b", "boot", "machine"), False, False),
    ],
)
def test_what_an_unlocked_record_proves(case: str, record: ProcessRecord, is_local: bool, dead: bool) -> None:
    assert proves_death(record, HERE, is_local=is_local) is dead, case


def test_machines_without_any_id_prove_nothing_to_each_other() -> None:
    assert not proves_death(ProcessRecord("b", "", ""), ProcessRecord("a", "", ""), is_local=True)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/lib/touchline", "ext4"),
        ("/srv", "nfs4"),
        ("/srv/other", "nfs4"),
        ("/srv/fast disk/scratch", "xfs"),
        ("/srv/under/scratch", "fuse.sshfs"),
        ("/srvants", "ext4"),
    ],
)
def test_which_file_system_a_path_is_on(path: str, expected: str) -> None:
    assert file_system_type(Path(path), MOUNTS) == expected
    assert file_system_type(Path(path), "") == ""


def started(folder: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", LIVING, str(folder), name]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"there\n"
    return process


def test_the_living_are_not_dead_and_the_killed_are(tmp_path: Path) -> None:
    with (
        started(tmp_path, "first") as first,
        started(tmp_path, "second") as second,
        register_process(tmp_path, "third") as presence,
    ):
        believing = ProcessRegistry(presence.folder, presence.own, is_local=True)  # wherever the tests' folder lies
        assert believing.dead() == []
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert believing.dead() == ["first"]
        believing.forget(["first", "second"])
        assert believing.dead() == []
        second.communicate()
        assert believing.dead() == ["second"], "what lives is not forgotten"
    with register_process(tmp_path, "fourth") as later:
        names = ProcessRegistry(later.folder, later.own, is_local=True).dead()
        assert sorted(names) == ["second", "third"], "who ended by itself may have left something, too"


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"name": 1}', json.dumps({"name": "x", "more": 2})])
def test_other_files_say_nothing(tmp_path: Path, text: str) -> None:
    with register_process(tmp_path, "here") as presence:
        (tmp_path / "other.json").write_text(text)
        assert presence.dead() == []
