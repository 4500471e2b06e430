"""`touchline sessions build` as a process: killed in the middle, with several processes, with standard input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from tests.support.builds import built_by_batch, hostile_line, written
from tests.support.sessions import DAY_MS, REAL_LOG, RULES, made_up_log, trace
from touchline.apps.cli import run
from touchline.measure.engines.model import DATABASE, BuildEngine
from touchline.measure.engines.outputs import OURS
from touchline.measure.sessions.parser import latest_believed

BUILD = """
import sys
from pathlib import Path
from touchline.measure.engines.model import InputFile
from touchline.measure.engines.service import BuildPace, BuildPlan, built
from tests.support.sessions import RULES

def progress(text):
    print(text, flush=True)
    sys.stdin.readline()

sources = [InputFile(path, Path(path)) for path in sys.argv[3:]]
plan = BuildPlan(Path(sys.argv[1]), Path(sys.argv[2]), pace=BuildPace(4000, 9000))
with built(sources, plan, RULES, progress):
    pass
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    random = Random(3)
    lines = [json.dumps(record).encode() for seed in range(9) for record in made_up_log(30, seed)]
    lines += [line for _ in range(60) if not (line := hostile_line(random)).startswith(b"[")]
    random.shuffle(lines)
    return written(tmp_path_factory.mktemp("events"), lines, (100, 220))


def contents(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in OURS}


def killed_after(commits: int, state: Path, files: list[Path]) -> None:
    """Between two commits: the process is told to go on, and killed while it does."""
    work = state.with_name("work")
    work.mkdir(exist_ok=True)
    command = [sys.executable, "-c", BUILD, str(work), str(state), *map(str, files)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as build:
        assert build.stdin
        assert build.stdout
        for _ in range(commits):
            assert build.stdout.readline()
            build.stdin.write(b"\n")
            build.stdin.flush()
        os.kill(build.pid, signal.SIGKILL)
        build.communicate()
        assert build.returncode == -signal.SIGKILL


def test_a_build_that_is_killed_goes_on_without_loss_or_double(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["sessions", "build", *map(str, files), "--json", "--out"]
    assert run([*given, str(tmp_path / "expected"), "--engine", "batch"]) == 0
    expected, report = contents(tmp_path / "expected"), json.loads(capsys.readouterr().out)
    state = tmp_path / "state"
    killed_after(3, state, files)
    killed_after(4, state, files)
    import duckdb  # not above: what is imported before the tests begin is never collected, and it complains

    with duckdb.connect(str(state / DATABASE), read_only=True) as database:
        [(stored,)] = database.execute("SELECT sum(raw) FROM pieces").fetchall()
    assert 0 < stored < report["raw"]
    with_state = [*given, str(tmp_path / "out"), "--state", str(state)]
    for _ in range(2):  # the second time there is nothing left to do
        assert run(with_state) == 0
        assert json.loads(capsys.readouterr().out) == report
        assert contents(tmp_path / "out") == expected
    files[0].write_bytes(b"{}\n" + files[0].read_bytes())
    assert run(with_state) != 0
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "conflict"
    assert contents(tmp_path / "out") == expected


@pytest.mark.parametrize("engine", list(BuildEngine))
def test_an_event_from_the_future_ends_no_session_of_others(
    engine: BuildEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock of the run decides: a session that has just begun is not over because of it."""
    now_ms = latest_believed(datetime.now(UTC), timedelta(0))
    quiet_ms = RULES.final_after_silence_ms - 120_000
    sent = {"running": -quiet_ms, "a-little-ahead": 240_000, "stranger": DAY_MS}
    records = [
        trace(name, now_ms + ts, "gateway_receive_stream_request", session=(name, "r")) for name, ts in sent.items()
    ]
    [file] = written(tmp_path / "in", [json.dumps(one).encode() for one in records], ())
    assert run(["sessions", "build", str(file), "--out", str(tmp_path / "out"), "--engine", engine, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["raw"], report["accepted"], report["quarantined"]) == (3, 2, 1)
    assert report["reasons"] == {"in_the_future": 1}
    sessions = map(json.loads, (tmp_path / "out" / "fact_workflow_sessions.jsonl").read_text().splitlines())
    assert {one["stream_id"]: one["is_final"] for one in sessions} == {"running": 0, "a-little-ahead": 0}
    [refused] = (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines()
    assert json.loads(refused)["reason"] == "in_the_future"


def test_standard_input_and_several_processes_change_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "touchline", "sessions", "build", "-", "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, input=REAL_LOG.read_bytes(), capture_output=True, check=True)
    assert json.loads(done.stdout)["sessions"] == 1
    assert b"records stored" in done.stderr
    lines = [json.dumps(entry["value"]).encode() for entry in json.loads(REAL_LOG.read_bytes())]
    files = written(tmp_path / "files", lines, (20, 40))
    shared = built_by_batch(files, 9000, processes=2)
    assert shared["sessions"] == (tmp_path / "out" / "fact_workflow_sessions.jsonl").read_bytes()
    assert shared == built_by_batch(files, 1 << 20)


def test_sessions_are_shared_out_among_processes(tmp_path: Path) -> None:
    """Many sessions, some of them only in lines that are read one by one, copies in other pieces and files."""
    random = Random(5)
    records = [record for seed in range(12) for record in made_up_log(40, seed)]
    for number in range(300):
        said = {"stream_id": f"s{number % 70}", "request_id": f"r{number % 7}", "timestamp": 1_767_960_000_000 + number}
        records.append({"id": f"plain-{number % 280}", "type": "stream_ingest_metrics", "gateway": "g", "data": said})
    lines = [json.dumps(record).encode() for record in records] + [hostile_line(random) for _ in range(60)]
    lines = [line for line in lines if not line.startswith(b"[")]
    random.shuffle(lines)
    files = written(tmp_path, lines, (100, 400))
    alone = built_by_batch(files, 1 << 20)
    assert alone["report"]["sessions"] > 70
    assert alone["report"]["duplicate"] > 20
    assert built_by_batch(files, 5000, processes=3) == alone
