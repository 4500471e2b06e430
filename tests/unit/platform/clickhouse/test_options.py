from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from touchline.contracts.settings import ByteSize
from touchline.platform.clickhouse import queries
from touchline.platform.clickhouse.__main__ import parse_arguments
from touchline.platform.clickhouse.engine import write_configuration
from touchline.platform.clickhouse.options import MIB, OwnerLimits, OwnerOptions, owner_command
from touchline.platform.settings import ClickHouseSettings, owner_limits

LIMITS = OwnerLimits(memory_bytes=300 * MIB, threads=3, longest_statement_s=7)


def test_the_owner_reads_back_what_was_written() -> None:
    options = OwnerOptions(Path("a folder"), 8123, Path("a secret"), "me", "mine", LIMITS)
    _, flag, module, *arguments = owner_command(options)
    assert (flag, module) == ("-m", "touchline.platform.clickhouse")
    assert parse_arguments(arguments) == options


def test_settings_become_limits() -> None:
    settings = ClickHouseSettings(
        embedded_memory=ByteSize(300 * MIB),
        embedded_threads=3,
        embedded_longest_statement=timedelta(seconds=7),
        embedded_queue_wait=timedelta(milliseconds=250),
    )
    assert owner_limits(settings) == OwnerLimits(
        memory_bytes=300 * MIB, threads=3, longest_statement_s=7, queue_wait_ms=250
    )
    assert owner_limits(ClickHouseSettings()) == OwnerLimits()


@pytest.mark.parametrize(
    "bad",
    [{"url": "clickhouse.example.org"}, {"database": "a b"}, {"database": "a`b"}, {"user": "a:b"}, {"connections": 0}],
)
def test_bad_settings_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ClickHouseSettings.model_validate(bad)


def test_every_limit_is_a_constraint(tmp_path: Path) -> None:
    configuration = ET.parse(write_configuration(tmp_path, LIMITS))  # noqa: S314 - our own
    users = ET.parse(configuration.findtext("users_config") or "")  # noqa: S314
    profile = users.find("profiles/default")
    assert profile is not None
    for name, most in (("max_threads", "3"), ("max_execution_time", "7")):
        assert profile.findtext(name) == most
        assert profile.findtext(f"constraints/{name}/min") == "1"
        assert profile.findtext(f"constraints/{name}/max") == most
    assert profile.find("constraints/allow_python_table_function/readonly") is not None
    assert configuration.findtext("max_server_memory_usage") == str(300 * MIB)


@pytest.mark.parametrize(
    ("text", "name", "literal", "parameter"),
    [
        ("plain", "`plain`", "'plain'", "plain"),
        ("it's", "`it's`", "'it\\'s'", "it's"),
        ("a`b", "`a\\`b`", "'a`b'", "a`b"),
        ("a\\", "`a\\\\`", "'a\\\\'", "a\\\\"),
        ("a\tb\n", "`a\tb\n`", "'a\tb\n'", "a\\tb\\n"),
    ],
)
def test_text_in_a_statement(text: str, name: str, literal: str, parameter: str) -> None:
    assert queries.quoted_name(text) == name
    assert queries.quoted_text(text) == literal
    assert queries.as_parameter(text) == parameter


def test_settings_are_one_statement() -> None:
    assert queries.set_settings({"a": "1", "b": "x'y"}) == "SET a = '1', b = 'x\\'y'"
