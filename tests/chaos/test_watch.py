"""`touchline demo` as a newcomer starts it, with a shorter day and while parts of it die: it ends as if nobody had."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import search_examples
from tests.support.installation import Installation, temporary_installation
from tests.support.listeners import STACK_DOORS, WATCH_DOORS, check_listeners, let_in, open_sockets, watch_knocks
from tests.support.wait import eventually
from touchline.apps import demonstration
from touchline.platform.stack.folder import read_ports
from touchline.platform.stack.status import find_orphans

from .conftest import Chaos

BETWEEN_DEATHS_S = 3
PARTS = ["watch", "browser", "temporal", "postgres", "objects"]
DAY = """
name: One goal that stands, one that does not
seed: 3
matches:
  - home: Harrowmere Rovers
    away: Kingsfold City
    style: bar
    minute_lasts: 200ms
    half_time: 1s
    added: [1, 1]
    chatter: 0
    incidents:
      - kind: goal
        minute: 2
        side: home
        player: Sørensen
        told_after: 0s
        posts: {copies: 2, transforms: [small, trimmed], first_after: 0s, last_after: 1s, look_alikes: 0}
      - {kind: goal, minute: 20, side: away, player: Ashdown, told_after: 0s, annulled_after: 8s, posts: {copies: 0}}
"""
SHORT = {
    "TOUCHLINE_WATCH_MONITOR_INTERVAL": "1s",
    "TOUCHLINE_WATCH_SEARCH_ATTEMPTS": "2",
    "TOUCHLINE_WATCH_SEARCH_INTERVAL": "4s",
}


@pytest.mark.chaos(seconds=60)
@pytest.mark.timeout(1200)
def test_a_day_ends_as_it_truly_was_whoever_dies(tmp_path: Path, chaos: Chaos) -> None:
    dying = chaos.random("watch").sample(PARTS, len(PARTS) if chaos.full else 1)
    (tmp_path / "day.yaml").write_text(DAY)
    demo = ("demo", "--no-open", "--json", "--script", str(tmp_path / "day.yaml"))
    with temporary_installation(SHORT) as fresh, ThreadPoolExecutor(1) as beside:
        with fresh.start(*demo) as process:
            assert process.stdout
            assert process.stderr
            told = beside.submit(document, process.stdout)
            try:
                wait_for_goal(process.stderr)
                kill_one_by_one(fresh, dying, told)
                check(told.result())
                check_examples(fresh)
                check_doors(fresh)
                if chaos.full:
                    by_hand(fresh.run)
            finally:
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert not find_orphans(fresh.folder)


def wait_for_goal(lines: Iterable[str]) -> None:
    """Until something is told of one."""
    for line in lines:
        assert not line.startswith("error"), line + "".join(lines)
        if "': " in line:
            return


def kill_one_by_one(fresh: Installation, dying: list[str], told: Future[Any]) -> None:
    for part in dying:
        assert not told.done(), f"the day was over before {part} died"
        kill(fresh, part)
        wait([told], BETWEEN_DEATHS_S)


def kill(fresh: Installation, part: str) -> None:
    found = next(each.pid for each in fresh.state.parts if each.name == part)
    if found:  # else it is being started again already
        os.kill(found, signal.SIGKILL)


def check(told: Any) -> None:
    assert [(goal["scorer"], goal["right"]) for goal in told["goals"]] == [
        ("M. Sørensen", True),
        ("M. Ashdown", True),
    ]
    [standing, annulled] = told["goals"]
    assert "found 2 times" in standing["found"], "the copies are one video"
    assert annulled["found"] == "gone"
    assert "touchline search Sørensen" in told["search"]
    assert "/sign-in?next=%2Fmatches#token=" in told["sign_in_link"]


def check_examples(fresh: Installation) -> None:
    """What the README, the guides and the page tell people to search for is found in a day that was played."""
    for example in search_examples():
        code, found = fresh.command("search", example)
        assert (code, bool(found["hits"])) == (0, True), example


def document(lines: Iterable[str]) -> Any:
    """The one JSON document on stdout; the command goes on behind it."""
    found: list[str] = []
    for line in lines:
        found.append(line)
        if line.rstrip() == "}":
            break
    return json.loads("".join(found))


def check_doors(fresh: Installation) -> None:
    """With the demo's world running too, and after kills; tests/e2e/test_listeners.py tries them in more ways."""
    eventually(lambda: {part.state for part in fresh.state.parts} == {"ready"})  # whoever died is back
    ports, world = read_ports(fresh.folder.ports), demonstration.read_state(fresh.folder.root / "demo")
    names = {*STACK_DOORS, *WATCH_DOORS}
    check_listeners(fresh, {**{ports[name]: name for name in names}, world.port: "the world, which has no secrets"})
    assert let_in(watch_knocks(ports)) == []
    assert open_sockets(fresh) == []


def by_hand(run: Any) -> None:
    """The commands for operators, on the day that was played."""
    code, match = run("watch", "fixture", "9070101")
    assert (code, match["home_name"], len(match["goals"])) == (0, "Harrowmere Rovers", 1)
    [goal] = match["goals"]
    code, found = run("watch", "goal", goal["event_id"])
    assert (code, {each["state"] for each in found["discovered"]}) == (0, {"downloaded"})
    [video] = goal["videos"]
    assert run("watch", "pin", video["artifact_hash"]) == (0, {"pinned": True, "changed": True})
    assert run("watch", "unpin", video["artifact_hash"]) == (0, {"pinned": False, "changed": True})
    code, again = run("watch", "retry", goal["event_id"])
    assert (code, again["workflow_id"].endswith("-again1")) == (0, True)
    assert run("watch", "replay", again["workflow_id"]) == (0, {"replays": True})
    code, ingested = run("watch", "ingest", "--fixture", "9070101")
    assert (code, ingested["stored"]) == (0, 1)
