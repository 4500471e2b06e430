from __future__ import annotations

import io
import stat
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from touchline.kernel import NotFound
from touchline.platform.stack.logs import (
    LONGEST_LINE_BYTES,
    LogFile,
    LogFollower,
    LogLimits,
    log_names,
    recent_lines,
    tail,
)

LIMITS = LogLimits(size_bytes=2_000, files=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "part.log"


@pytest.fixture
def log(path: Path) -> Generator[LogFile]:
    with closing(LogFile(path, LIMITS)) as log:
        yield log


@pytest.fixture
def large_log(path: Path) -> Generator[LogFile]:
    with closing(LogFile(path, LogLimits(size_bytes=10_000_000, files=1))) as log:
        yield log


def texts(path: Path, count: int) -> list[str]:
    return [line.text for line in tail(path, "part", count)]


def test_lines_carry_the_moment_and_the_file_is_ours_alone(path: Path, log: LogFile) -> None:
    log.write("hello")
    [line] = tail(path, "part", 10)
    assert (line.part, line.text) == ("part", "hello")
    assert line.at.endswith("Z")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_line_of_a_longer_text_carries_the_moment(path: Path, log: LogFile) -> None:
    log.write("one\n\nthree")
    assert texts(path, 10) == ["one", "", "three"]


def test_a_log_is_bounded_and_its_end_is_kept(path: Path, log: LogFile) -> None:
    for number in range(1_000):
        log.write(f"line {number}")
    files = list(path.parent.iterdir())
    assert {file.name for file in files} == {"part.log", "part.log.1", "part.log.2"}
    assert all(file.stat().st_size <= LIMITS.size_bytes for file in files)
    assert texts(path, 60) == [f"line {number}" for number in range(940, 1_000)]


@pytest.mark.parametrize("count", [1, 3, 1_000])
def test_long_lines_do_not_confuse_the_tail(path: Path, large_log: LogFile, count: int) -> None:
    lines = [f"{number} {'x' * 5_000}" for number in range(20)]
    for line in lines:
        large_log.write(line)
    assert texts(path, count) == lines[-count:]


def test_a_follower_sees_every_line_over_the_change_of_files(path: Path, log: LogFile) -> None:
    log.write("before")
    with closing(LogFollower(path, "part")) as follower:
        seen = list[str]()
        for number in range(200):
            log.write(f"line {number}")
            seen += [line.text for line in follower.poll()]
    assert seen == [f"line {number}" for number in range(200)]


def test_a_follower_waits_for_a_file_that_is_not_there_yet(path: Path) -> None:
    with closing(LogFollower(path, "part")) as follower:
        assert follower.poll() == []
        path.write_text("2026-01-01T00:00:01.000Z first\n")
        assert [line.text for line in follower.poll()] == ["first"]


def test_output_is_copied_line_by_line_and_an_endless_line_is_cut(path: Path, large_log: LogFile) -> None:
    large_log.follow(io.BytesIO(b"one\ntwo\xff\n" + b"x" * (LONGEST_LINE_BYTES + 1))).join()
    assert texts(path, 10) == ["one", "two\ufffd", "x" * LONGEST_LINE_BYTES, "x"]
    assert large_log.recent().startswith("one\n")


def test_lines_of_several_parts_come_in_the_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("2026-01-01T00:00:01.000Z a1\n2026-01-01T00:00:03.000Z a2\n")
    (tmp_path / "b.log").write_text("2026-01-01T00:00:02.000Z b1\n")
    names = log_names(tmp_path, "")
    assert [line.text for line in recent_lines(tmp_path, names, 2)] == ["b1", "a2"]
    assert recent_lines(tmp_path, names, 0) == []
    assert log_names(tmp_path, "a") == ["a"]
    with pytest.raises(NotFound) as missing:
        log_names(tmp_path, "c")
    assert "a, b" in missing.value.hint
