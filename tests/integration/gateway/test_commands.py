"""`touchline tenants|users|tokens` against a real database, as a person types them."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from touchline.apps import cli
from touchline.platform.endpoints import PostgresEndpoint

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
