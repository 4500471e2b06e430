from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

import pytest

from touchline.apps.logging import Format, Level, LogSettings, configure
from touchline.apps.redaction import MASK

JSON = LogSettings(format=Format.JSON)
HUMAN = LogSettings(format=Format.HUMAN)
log = logging.getLogger("touchline.example")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """`configure` replaces what pytest installed on the root logger; put it back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def fail_with(message: str) -> None:
    try:
        raise ValueError(message)
    except ValueError:
        log.exception("it failed")


def test_json_has_one_object_a_line_with_the_extra_fields() -> None:
    stream = io.StringIO()
    configure("control", JSON, stream)
    log.info("took %s events", 3, extra={"consumer": UUID(int=1), "count": 3})
    line = json.loads(stream.getvalue())
    assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
    assert line == {
        "level": "info",
        "role": "control",
        "logger": "touchline.example",
        "message": "took 3 events",
        "consumer": "00000000-0000-0000-0000-000000000001",
        "count": 3,
    }


@pytest.mark.parametrize("settings", [JSON, HUMAN])
def test_secrets_are_hidden_in_messages_arguments_fields_and_tracebacks(settings: LogSettings) -> None:
    stream = io.StringIO()
    configure("control", settings, stream)
    log.info("url %s", "postgresql://app:hunter2@db/x", extra={"headers": {"authorization": "Bearer hunter2"}})
    fail_with("cannot open /media/hunter2.hunter2.hunter2/index.m3u8")
    assert stream.getvalue().count(MASK) == 3
    assert "hunter2" not in stream.getvalue()


def test_a_person_gets_one_short_line() -> None:
    stream = io.StringIO()
    configure("control", HUMAN, stream)
    log.warning("slow", extra={"part": "objects"})
    assert stream.getvalue().endswith("warning control touchline.example: slow part=objects\n")


@pytest.mark.parametrize(("stream", "is_json"), [(io.StringIO(), True), (Terminal(), False)])
def test_auto_is_human_on_a_terminal_only(stream: io.StringIO, is_json: bool) -> None:
    configure("control", LogSettings(), stream)
    log.info("hello")
    assert stream.getvalue().startswith("{") is is_json


def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    configure("control", LogSettings(level=Level.WARNING), stream)
    log.info("hello")
    assert stream.getvalue() == ""


def test_a_field_cannot_replace_what_every_line_has() -> None:
    stream = io.StringIO()
    configure("control", JSON, stream)
    log.info("hello", extra={"role": "forged", "time": "never"})
    line = json.loads(stream.getvalue())
    assert line["role"] == "control"
    assert line["time"] != "never"
