"""Makes the words for a team: what the feed knows of it, its names on Wikidata, a model's choice among them.

Invariant: there are always words. Whatever did not answer is done without, and what was made so expires.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from touchline.kernel import Clock, TouchlineError
from touchline.watch.aliases.language_model import ModelClient
from touchline.watch.settings import AliasSettings

from . import rules
from .wikidata import WikidataClient, facts_of
from .workflow import RAGInput

logger = logging.getLogger(__name__)

SCHEMA = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}}},
    "required": ["words"],
    "additionalProperties": False,
}
PROMPT = """\
People post videos of goals and name the team in one word: a short name, a nickname or a code.
The team is {name}{where}. Choose at most {most} of the words below that such posts use for this team, the most common \
first. Leave out words that fit many other teams. {people}
Answer with JSON only: an object with the key "words" and the list of them.
Words: {words}"""


@dataclass(frozen=True, slots=True)
class AliasMaker:
    feed: rules.TeamSource
    wikidata: WikidataClient
    model: ModelClient
    settings: AliasSettings
    clock: Clock

    async def make(self, asked: RAGInput) -> rules.Made:
        facts = await self._facts(asked)
        team = rules.AliasTeam(asked.team_id, asked.team_name, facts or _guessed(asked.team_name))
        item = await self._item(team)
        found = rules.words_of_names((item.label, *item.names)) if item else []
        words = await self._chosen(team, found) if found else ()
        is_known = bool(words) and facts is not None
        now = self.clock.now()
        return rules.Made(
            team,
            words or rules.made_by_rules(team, found, self.settings.words),
            "model" if words else "rules",
            item.id if item else None,
            now,
            None if is_known else now + self.settings.rules_expire,
        )

    async def _facts(self, asked: RAGInput) -> rules.TeamDetails | None:
        try:
            document = await self.feed.team(asked.team_id)
        except TouchlineError as error:
            _log("the feed has no data about the team", asked.team_name, error)
            return None
        return facts_of(document) if document is not None else None

    async def _item(self, team: rules.AliasTeam) -> rules.WikidataItem | None:
        try:
            return await self.wikidata.find(team)
        except TouchlineError as error:
            _log("Wikidata was not used", team.name, error)
            return None

    async def _chosen(self, team: rules.AliasTeam, found: Sequence[str]) -> tuple[str, ...]:
        """Nothing when the model did not answer, or only invented."""
        try:
            answer = await self.model.ask(prompt(team, found, self.settings.words), schema=SCHEMA)
        except TouchlineError as error:
            _log("the model was not used", team.name, error)
            return ()
        return rules.taken(answer, team, found, self.settings.words)


def prompt(team: rules.AliasTeam, found: Sequence[str], most: int) -> str:
    facts = team.facts
    kind = "a national team" if facts.national else "a club"
    where = ", ".join(part for part in (kind, facts.city, facts.country) if part)
    people = "You may add what the people of that country are called." if facts.national else ""
    words = json.dumps(list(found), ensure_ascii=False)
    return PROMPT.format(name=team.name, where=f" ({where})", most=most, people=people, words=words)


def _guessed(name: str) -> rules.TeamDetails:
    """Without the feed: a team that is called like a country is that country's."""
    return rules.TeamDetails(national=bool(rules.nationalities_of(name)))


def _log(what: str, team: str, error: TouchlineError) -> None:
    logger.warning("[RAG] %s", what, extra={"team": team, "code": error.code, "reason": str(error)})
