"""The commands of a person who looks after the running product, and what is said when something cannot be done."""

from __future__ import annotations

import signal
from typing import Any
from uuid import UUID

import pytest

from tests.support.installation import PARTS
from tests.support.videos import MP4, Studio
from tests.support.wait import eventually

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


def test_acts_are_on_record_with_who_did_them(product: Product) -> None:
    run = product.installation.run
    assert run("tenants", "create", "audited", "--name", "Audited")[0] == 0
    code, user = run("users", "create", "auditor@example.org", "--role", "viewer", "--tenant", "audited")
    assert code == 0, user

    def acts(*arguments: str) -> list[tuple[str, str | None]]:
        code, found = run("audit", "--tenant", "audited", *arguments)
        assert code == 0, found
        return [(event["type"], event["actor"]) for event in found["events"]]

    eventually(lambda: acts() == [("user.created", "cli"), ("tenant.created", "cli")])
    assert acts("--type", "tenant.created", "--within", "1h") == [("tenant.created", "cli")]
    assert acts("--actor", "touchline") == []
    code, refused = run("audit", "--tenant", "audited", "--type", "nonsense")
    assert (code, refused["error"]["code"]) == (2, "invalid_input")


def test_retention_says_what_it_would_delete_and_deletes_nothing_that_is_young(product: Product) -> None:
    for arguments in (["--dry-run"], []):
        code, report = product.installation.run("retention", "run", *arguments)
        assert (code, report["dry_run"], report["limited"], report["failed"]) == (0, bool(arguments), False, [])
        assert [step["step"] for step in report["steps"]] == [
            "fail", "expire", "expire", "purge due", "purge", "forget due", "forget"
        ]  # fmt: skip
        assert report["totals"] == []


async def test_fsck_finds_what_was_lost_and_says_so_by_its_exit_code(product: Product, studio: Studio) -> None:
    code, done = product.upload(str(studio.write("checked.mp4", studio.make(MP4).read_bytes())))
    assert code == 0, done
    run, lost = product.installation.run, done["artifact_hash"]

    def about(report: Any) -> list[str]:
        return [damage["kind"] for damage in report["damages"] if damage["what"] == lost]

    code, report = run("fsck", "--thorough")
    assert (code, report["clean"], about(report)) == (0, True, []), report
    await product.lose(f"videos/original/{UUID(lost)}")
    code, report = run("fsck")
    assert (code, report["clean"], about(report)) == (1, False, ["file_missing"])
    code, report = run("fsck", "--repair")
    assert (code, report["repaired"]["mark_missing"]) == (0, 1)
    assert [each["type"] for each in run("audit", "--artifact", lost)[1]["events"]].count(
        "artifact.original_vanished"
    ) <= 1
    assert run("fsck")[0] == 1, "it is known to be missing, and still is"
    await product.delete(lost)


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
