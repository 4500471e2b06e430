from __future__ import annotations

import json
import socket
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from touchline.platform.stack.folder import LOOPBACK, OUTGOING_RANGE, choose_ports, is_free, read_ports

NAMES = [f"part_{number}" for number in range(30)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ports.json"


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server


def test_ports_are_free_different_and_outside_of_the_outgoing_range(path: Path) -> None:
    ports = choose_ports(path, NAMES)
    lowest, highest = map(int, OUTGOING_RANGE.read_text().split())
    assert len(set(ports.values())) == len(NAMES)
    assert all(is_free(port) and not lowest <= port <= highest for port in ports.values())


def test_ports_are_remembered(path: Path) -> None:
    assert choose_ports(path, NAMES) == choose_ports(path, NAMES) == read_ports(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_part_gets_a_port_and_the_others_keep_theirs(path: Path) -> None:
    before = choose_ports(path, NAMES[:5])
    after = choose_ports(path, NAMES[:6])
    assert {name: after[name] for name in before} == before
    assert after[NAMES[5]] not in before.values()


def test_a_port_that_somebody_took_is_chosen_again(path: Path, listener: socket.socket) -> None:
    taken = listener.getsockname()[1]
    before = {**choose_ports(path, ["one", "two"]), "two": taken}
    path.write_text(json.dumps(before))
    after = choose_ports(path, ["one", "two"])
    assert after["one"] == before["one"]
    assert after["two"] != taken
    assert read_ports(path) == after


def test_two_names_with_the_same_remembered_port_do_not_share_it(path: Path) -> None:
    one = choose_ports(path, ["one"])["one"]
    path.write_text(json.dumps({"one": one, "two": one}))
    assert len(set(choose_ports(path, ["one", "two"]).values())) == 2


def test_a_port_whose_last_connection_just_closed_is_free(listener: socket.socket) -> None:
    """The side that closes first keeps the port for a minute; a server that restarts must not care."""
    port = listener.getsockname()[1]
    with socket.create_connection((LOOPBACK, port)) as client:
        accepted, _ = listener.accept()
        accepted.close()
        client.recv(1)
    listener.close()
    assert is_free(port)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"one": "text"}', '{"one": 99999999}'])
def test_what_cannot_be_read_counts_for_nothing(path: Path, text: str) -> None:
    path.write_text(text)
    assert read_ports(path) == {}
    assert choose_ports(path, ["one"]) == read_ports(path)
