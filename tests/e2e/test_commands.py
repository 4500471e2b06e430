"""The commands of a person who looks after the running product, and what is said when something cannot be done."""

from __future__ import annotations

import signal

import pytest

from tests.support.installation import PARTS

from .product import Product


def test_up_returns_when_everything_is_ready_and_greets(product: Product) -> None:
    document = product.greeted
    assert document["ready"]
    assert [part["name"] for part in document["parts"]] == PARTS
    assert any("/sign-in" in line for line in document["greeting"])


def test_the_greeting_is_in_no_file(product: Product) -> None:
    folder = product.installation.folder
    files = [each for each in (*folder.logs.iterdir(), *folder.run.rglob("*")) if each.is_file()]
    assert not [file for file in files if product.sign_in_link in file.read_text(errors="replace")]


def test_status_shows_every_part_with_its_memory(product: Product) -> None:
    code, document = product.installation.run("status")
    assert code == 0
    assert [part["name"] for part in document["parts"]] == PARTS
    assert {part["state"] for part in document["parts"]} == {"ready"}
    assert all(part["memory_bytes"] > 1_000_000 for part in document["parts"])


def test_doctor_finds_nothing(product: Product) -> None:
    code, findings = product.installation.run("doctor")
    assert code == 0
    # What it cannot close it says, however few use the machine.
    assert [finding["check"] for finding in findings if finding["level"] != "ok"] == ["temporal access"]
    assert set(PARTS) <= {finding["check"] for finding in findings}


def test_logs_of_all_parts_or_of_one(product: Product) -> None:
    code, lines = product.installation.run("logs", "--lines", "100000")
    assert code == 0
    assert {*PARTS, "supervisor"} >= {line["part"] for line in lines} >= {"supervisor", "postgres", "objects"}
    assert lines == sorted(lines, key=lambda line: line["at"])
    code, lines = product.installation.run("logs", "supervisor", "-n", "1")
    assert [line["text"] for line in lines] == ["everything is ready"]


def test_logs_can_be_followed(product: Product) -> None:
    with product.installation.start("logs", "supervisor", "--follow", "-n", "1") as process:
        assert process.stdout
        assert "everything is ready" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [(["logs", "absent"], 3, "not_found"), (["logs", "--follow"], 2, "invalid_input"), (["up"], 5, "conflict")],
)
def test_what_cannot_be_done_is_said(product: Product, arguments: list[str], exit_code: int, error: str) -> None:
    code, document = product.installation.run(*arguments)
    assert (code, document["error"]["code"]) == (exit_code, error)
