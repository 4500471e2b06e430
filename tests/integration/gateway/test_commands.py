"""`touchline tenants|users|tokens` and `touchline watch matches` against a real database, as a person types them."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.support import matches
from touchline.apps import cli
from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database

from .conftest import PASSWORD

# The parts that these commands do not touch: they only must have an address.
ELSEWHERE = {
    "OBJECTS_URL": "http://127.0.0.1:1",
    "OBJECTS_ACCESS_KEY": "unused",
    "OBJECTS_SECRET_KEY": "unused",
    "TEMPORAL_ADDRESS": "127.0.0.1:1",
    "CLICKHOUSE_URL": "http://127.0.0.1:1",
    "CLICKHOUSE_PASSWORD": "unused",
}


@dataclass(frozen=True, slots=True)
class Terminal:
    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def run(self, *arguments: str, code: int = 0, stdin: str = "") -> str:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        self.capture.readouterr()
        left = cli.run(arguments)
        output = self.capture.readouterr()
        assert left == code, output.err + output.out
        return output.out

    def json(self, *arguments: str, code: int = 0, stdin: str = "") -> Any:
        return json.loads(self.run(*arguments, "--json", code=code, stdin=stdin))


@pytest.fixture
def terminal(
    postgres: PostgresEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    addresses = {"POSTGRES_URL": postgres.app_url, "POSTGRES_OWNER_URL": postgres.owner_url, **ELSEWHERE}
    for name, value in {**addresses, "DATA": str(tmp_path), "GATEWAY_PORT": "4000"}.items():
        monkeypatch.setenv(f"TOUCHLINE_{name}", value)
    return Terminal(capsys, monkeypatch)


def test_tenants(terminal: Terminal) -> None:
    made = terminal.json("tenants", "create", "club", "--name", "The Club")
    assert (made["slug"], made["name"], made["suspended_at"]) == ("club", "The Club", None)
    assert terminal.json("tenants", "show", "club") == made
    assert terminal.json("tenants", "rename", "club", "Club")["name"] == "Club"
    assert terminal.json("tenants", "suspend", "club")["suspended_at"]
    assert "suspended" in terminal.run("tenants", "list")
    assert terminal.json("tenants", "resume", "club")["suspended_at"] is None
    terminal.run("tenants", "create", "other")
    listed = terminal.json("tenants", "list", "--limit", "1")
    assert ([tenant["slug"] for tenant in listed["tenants"]], listed["more"]) == (["club"], True)
    rest = terminal.json("tenants", "list", "--after", made["id"])
    assert ([tenant["slug"] for tenant in rest["tenants"]], rest["more"]) == (["other"], False)


def test_users(terminal: Terminal) -> None:
    terminal.run("tenants", "create", "default")
    made = terminal.json("users", "create", "ada@example.org", "--role", "editor")
    assert (made["email"], made["role"], made["has_password"]) == ("ada@example.org", "editor", False)
    assert "password_hash" not in made
    assert terminal.json("users", "role", "ADA@example.org", "admin")["role"] == "admin"
    assert terminal.json("users", "disable", "ada@example.org")["disabled_at"]
    assert "disabled" in terminal.run("users", "list")
    assert terminal.json("users", "enable", "ada@example.org")["disabled_at"] is None
    assert terminal.json("users", "password", "ada@example.org", stdin=f"{PASSWORD}\n")["has_password"]
    assert [user["email"] for user in terminal.json("users", "list")["users"]] == ["ada@example.org"]


def test_a_link_is_the_address_of_the_page(terminal: Terminal) -> None:
    terminal.run("tenants", "create", "default")
    terminal.run("users", "create", "ada@example.org")
    assert terminal.run("users", "link", "ada@example.org").startswith("http://127.0.0.1:4000/sign-in#token=tll_")
    terminal.monkeypatch.setenv("TOUCHLINE_GATEWAY_PUBLIC_URL", "https://video.example.org")
    link = terminal.json("users", "link", "ada@example.org")
    assert link["url"].startswith("https://video.example.org/sign-in#token=tll_")


def test_tokens(terminal: Terminal) -> None:
    terminal.run("tenants", "create", "default")
    terminal.run("users", "create", "ada@example.org", "--role", "editor")
    make = ("tokens", "create", "importer", "--user", "ada@example.org", "--scope", "read", "--scope", "write")
    made = terminal.json(*make, "--expires", "90d")
    assert made["token"].startswith(f"tl_{made['id'].replace('-', '')}_")
    assert made["scopes"] == ["read", "write"]
    assert made["expires_at"]
    assert terminal.run(*make).startswith("tl_")
    listed = terminal.json("tokens", "list", "--user", "ada@example.org")["tokens"]
    assert [token["name"] for token in listed] == ["importer", "importer"]
    assert "token" not in listed[0]
    assert terminal.json("tokens", "revoke", made["id"])["revoked_at"]
    assert "revoked" in terminal.run("tokens", "list")


def test_matches_are_found_by_team_competition_and_scorer(terminal: Terminal, postgres: PostgresEndpoint) -> None:
    tenants = [UUID(terminal.json("tenants", "create", name)["id"]) for name in ("default", "other")]
    terminal.run("users", "create", "ada@example.org", "--role", "admin")
    ours, theirs = (TenantId(each) for each in tenants)
    later = matches.KICK_OFF + timedelta(days=1)
    asyncio.run(
        written(
            postgres,
            {
                ours: [
                    matches.match(ours, 4200, home_goals=1),
                    matches.goal(ours, 4200, matches.event_id(4200)),
                    matches.match(ours, 4201, kick_off=later, status="NS", away_name="Göteryd", home_goals=None),
                ],
                theirs: [matches.match(theirs, 4202)],
            },
        )
    )
    first, second = terminal.run("watch", "matches", "arse").splitlines()[1:]
    assert first.split() == ["4201", "2026-11-16", "20:00", "Arsenal", "Göteryd", "-:0", "NS"]
    assert second.split() == ["4200", "2026-11-15", "20:00", "Arsenal", "Liverpool", "1:0", "1H"]

    def found(*arguments: str) -> list[int]:
        return [match["id"] for match in terminal.json("watch", "matches", *arguments)]

    assert found("goteryd") == [4201]
    assert found("saka") == found("liverpool") == [4200]
    assert found("premier league") == [4201, 4200]
    assert found("premier league", "--limit", "1") == [4201]
    assert found("chelsea") == []
    assert terminal.json("watch", "matches", " ", code=2)["error"]["code"] == "invalid_input"
    assert terminal.run("watch", "matches", "arsenal", "--limit", "0", code=2) == ""


async def written(postgres: PostgresEndpoint, statements: dict[TenantId, list[matches.Statement]]) -> None:
    async with Database(postgres.app_url) as database:
        for tenant_id, of_tenant in statements.items():
            async with database.transaction(tenant_id) as transaction:
                await matches.write(transaction, *of_tenant)


def test_errors_say_what_and_leave_with_their_code(terminal: Terminal) -> None:
    terminal.run("tenants", "create", "default")
    for code, error, arguments in (
        (3, "not_found", ("tenants", "show", "nobody")),
        (3, "not_found", ("users", "link", "nobody@example.org")),
        (3, "not_found", ("tokens", "revoke", "00000000-0000-7000-8000-000000000000")),
        (5, "already_exists", ("tenants", "create", "default")),
        (2, "invalid_input", ("tenants", "create", "Not a slug")),
        (2, "invalid_input", ("tenants", "list", "--after", "x")),
        (2, "invalid_input", ("users", "list", "--limit", "501")),
        (2, "invalid_input", ("users", "create", "ada@example.org", "--role", "emperor")),
    ):
        assert terminal.json(*arguments, code=code)["error"]["code"] == error, arguments
    terminal.run("users", "create", "ada@example.org")
    assert terminal.json("users", "password", "ada@example.org", stdin="short\n", code=2)["error"]["code"]
    make = ("tokens", "create", "x", "--user", "ada@example.org", "--scope", "write")
    assert terminal.json(*make, code=4)["error"]["code"] == "forbidden"
