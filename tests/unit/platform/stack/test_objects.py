from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from touchline.platform.stack import objects
from touchline.platform.stack.folder import choose_ports

PORTS = {"objects_grpc": 1, "objects_master_grpc": 2, "objects_volume_grpc": 3, "objects_filer_grpc": 4, "postgres": 5}


def test_sockets_are_named_by_their_ports() -> None:
    assert {path.name for path in objects.sockets(PORTS)} == {
        "seaweedfs-s3-grpc-1.sock", "seaweedfs-master-grpc-2.sock",
        "seaweedfs-volume-grpc-3.sock", "seaweedfs-filer-grpc-4.sock",
    }  # fmt: skip
    assert objects.sockets({}) == []


def test_what_others_put_in_the_place_of_a_socket_makes_its_port_another_one(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may make a file of that name, which we cannot remove: here it is a folder."""
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(objects, "SOCKET", f"{folder}/{{service}}-{{port}}.sock")
    remembered = choose_ports(folder / "ports.json", objects.PORTS)
    left, taken = objects.sockets(remembered)[:2]
    left.touch()
    taken.mkdir()
    objects.remove_sockets(remembered)
    assert not left.exists()
    [port] = objects.ports_with_foreign_sockets(remembered)
    chosen = choose_ports(folder / "ports.json", objects.PORTS, avoid=[port])
    changed = {name for name in objects.PORTS if chosen[name] != remembered[name]}
    assert [remembered[name] for name in changed] == [port]
    assert objects.ports_with_foreign_sockets(chosen) == []


def test_sockets_where_nobody_listens_are_removed_also_of_a_folder_that_is_gone(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("tmp")  # names of sockets are short
    monkeypatch.setattr(objects, "SOCKET", f"{folder}/{{service}}-{{port}}.sock")
    monkeypatch.chdir(folder)
    listening, dead, starting = (Path(f"master-{port}.sock") for port in (1, 2, 3))
    file, other = Path("filer-4.sock"), Path("another.sock")
    file.touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        server.listen()
        for path in (dead, starting, other):
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(path))
        for path in (listening, dead, file, other):
            os.utime(path, (0, 0))
        objects.remove_abandoned_sockets()
        assert {path.name for path in folder.iterdir()} == {str(path) for path in (listening, starting, file, other)}
