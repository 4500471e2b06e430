"""Nothing that a person can set, call, measure or meet may be undocumented; no page may point nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scripts import reference
from touchline.apps.settings import setting_fields

ROOT = reference.ROOT
PAGES = reference.pages()
COMMANDS = dict(reference.commands())
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_reference_is_what_the_code_says(path: Path) -> None:
    written = path.read_text("utf-8") if path.exists() else ""
    assert written == PAGES[path], "the code has changed: run `make reference`"


@pytest.mark.parametrize(("name", "field"), list(setting_fields()))
def test_every_setting_is_described_and_has_a_default(name: str, field: Any) -> None:
    assert re.fullmatch(r"(?s)[A-Z`].*[.]", field.description or ""), f"{name}: describe it in a sentence"
    assert not field.is_required()


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_help(path: str) -> None:
    command = COMMANDS[path]
    assert command.help, f"{path}: say what it does"
    assert [parameter.name for parameter in command.params if not parameter.help] == []


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_every_command_speaks_json(path: str) -> None:
    assert "--json" in {name for parameter in COMMANDS[path].params for name in parameter.opts}


@pytest.mark.parametrize("metric", reference.metrics(), ids=lambda metric: metric._name)
def test_every_metric_is_described_and_carries_our_name(metric: Any) -> None:
    assert metric._name.startswith("touchline_")
    assert metric._documentation.endswith(".")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(document: Path) -> None:
    targets = [link for link in LINK.findall(document.read_text("utf-8")) if "://" not in link]
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [
            (page.parent / link).resolve() for link in LINK.findall(page.read_text("utf-8")) if "://" not in link
        ]
    assert [str(page.relative_to(ROOT)) for page in DOCUMENTS if page.resolve() not in reached] == []
