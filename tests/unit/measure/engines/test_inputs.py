"""What a build reads and leaves behind: every way of giving the same events, and nothing half-written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.sessions import REAL_LOG, RULES
from touchline.kernel import AlreadyExists, InvalidInput, LimitExceeded, NotFound
from touchline.measure.engines import inputs, outputs
from touchline.measure.engines.model import BuildEngine
from touchline.measure.engines.service import BuildOrder, build
from touchline.measure.sessions.parser import LARGEST_BYTES

FILES = sorted(outputs.OURS)


def built(out: Path, *given: Path, engine: BuildEngine = BuildEngine.BATCH, force: bool = False) -> dict[str, bytes]:
    build(BuildOrder(tuple(map(str, given)), out, engine, force=force), RULES, lambda _: None)
    return {name: (out / name).read_bytes() for name in FILES}


def records() -> list[dict[str, object]]:
    return [entry["value"] for entry in json.loads(REAL_LOG.read_bytes())]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return built(tmp_path_factory.mktemp("real") / "out", REAL_LOG)


def test_the_real_log_has_its_known_figures(expected: dict[str, bytes]) -> None:
    (row,) = map(json.loads, expected[outputs.SESSIONS].splitlines())
    assert (row["startup_ms"], row["e2e_proxy_ms"], row["prompt_to_playable_ms"]) == (2655, 105, 6435)
    assert row["startup_outcome"] == "success"
    report = json.loads(expected[outputs.REPORT])
    assert (report["raw"], report["accepted"], report["sessions"]) == (65, 65, 1)


@pytest.mark.parametrize("engine", list(BuildEngine))
@pytest.mark.parametrize("way", ["array", "lines", "packed", "windows", "exported lines", "folder"])
def test_every_way_of_giving_events_is_the_same(
    way: str, engine: BuildEngine, expected: dict[str, bytes], tmp_path: Path
) -> None:
    lines = [json.dumps(record).encode() for record in records()]
    folder = tmp_path / "given"
    folder.mkdir()
    match way:
        case "array":
            (folder / "a").write_bytes(b" \n[" + b",\n".join(lines) + b"]\n")
        case "lines":
            (folder / "a").write_bytes(b"\n\n".join(lines))
        case "packed":
            (folder / "a").write_bytes(gzip.compress(b"\n".join(lines)))
        case "windows":
            (folder / "a").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n\r\n")
        case "exported lines":
            (folder / "a").write_text(
                "\n".join(json.dumps({"offset": 1, "value": json.dumps(one)}) for one in records())
            )
        case _:
            for at, line in enumerate(lines):
                (folder / f"{at}").write_bytes(line)
    assert built(tmp_path / "out", folder, engine=engine) == expected


def test_a_line_that_is_too_long_is_quarantined_with_its_head(tmp_path: Path) -> None:
    good = json.dumps(records()[0]).encode()
    for size in (LARGEST_BYTES + 1, 3 * LARGEST_BYTES):
        path = tmp_path / f"long-{size}"
        path.write_bytes(good + b'\n{"id":"' + b"x" * (size - 7) + b"\n" + good)
        results = [built(tmp_path / f"{size}-{engine}", path, engine=engine) for engine in BuildEngine]
        assert results[0] == results[1]
        (refused,) = map(json.loads, results[0][outputs.QUARANTINE].splitlines())
        assert refused["reason"] == "too_large"
        assert refused["detail"].startswith(str(size))
        assert refused["raw"] == '{"id":"' + "x" * (1024 - 7)
        assert json.loads(results[0][outputs.REPORT])["duplicate"] == 1


def test_an_input_that_cannot_be_read_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "damaged").write_bytes(gzip.compress(b"{}\n" * 999)[:-9])
    (tmp_path / "array").write_bytes(b"[" + b"{},\n" * 999 + b"{}]")
    monkeypatch.setattr(inputs, "LARGEST_ARRAY", 1000)
    for name, error in (("absent", NotFound), ("damaged", InvalidInput), ("array", LimitExceeded)):
        with pytest.raises(error):
            built(tmp_path / "out", tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"damaged", "array"}


def test_what_is_not_ours_is_replaced_only_by_force(expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    built(out, REAL_LOG)
    assert built(out, REAL_LOG, engine=BuildEngine.INCREMENTAL) == expected  # ours: made again
    (out / "mine").touch()
    with pytest.raises(AlreadyExists):
        built(out, REAL_LOG)
    assert (out / "mine").exists()
    assert built(out, REAL_LOG, force=True) == expected
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_events_are_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for engine in BuildEngine:
        made = built(tmp_path / engine, tmp_path / "empty", engine=engine)
        assert json.loads(made[outputs.REPORT])["raw"] == 0
        assert made[outputs.SESSIONS] == b""


def test_a_build_that_is_interrupted_in_a_query_leaves_nothing(tmp_path: Path) -> None:
    """DuckDB says so with an error of its own, in which Ctrl-C is lost."""

    def interrupted(_: str) -> None:
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        build(BuildOrder((str(REAL_LOG),), tmp_path / "out"), RULES, interrupted)
    assert not list(tmp_path.iterdir())
