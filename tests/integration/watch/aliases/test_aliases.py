"""Words for teams from the world's feed, Wikidata and model over HTTP: when all is well, and when it is not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from tests.support.days import a_day
from tests.support.watch_context import new_context
from tests.support.world import STARTS, served, world_of
from touchline.kernel import ManualClock, Unavailable
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.watch.aliases.activities import AliasActivities
from touchline.watch.aliases.language_model import ModelClient
from touchline.watch.aliases.rules import Made
from touchline.watch.aliases.service import AliasMaker
from touchline.watch.aliases.wikidata import WikidataClient
from touchline.watch.aliases.workflow import RAGInput
from touchline.watch.settings import AliasSettings, ModelSettings
from touchline_world.application import build_app
from touchline_world.days.catalogue import get_catalogue
from touchline_world.days.model import Fault, Service, Trouble

MINUTE = 60_000
# One world: at each of these minutes something else is wrong with it.
WELL, HANGING = 0, 12
TROUBLES = {
    1: [(Service.MODEL, Trouble.ODD)],
    2: [(Service.MODEL, Trouble.BAD)],
    3: [(Service.MODEL, Trouble.OUTAGE)],
    4: [(Service.MODEL, Trouble.LIMITED)],
    5: [(Service.MODEL, Trouble.EMPTY)],
    6: [(Service.WIKIDATA, Trouble.OUTAGE)],
    7: [(Service.WIKIDATA, Trouble.ERRORS)],
    8: [(Service.WIKIDATA, Trouble.EMPTY)],
    9: [(Service.WIKIDATA, Trouble.RESETS)],
    10: [(Service.WIKIDATA, Trouble.OUTAGE), (Service.MODEL, Trouble.OUTAGE), (Service.FEED, Trouble.OUTAGE)],
    11: [(Service.FEED, Trouble.OUTAGE)],
    HANGING: [(Service.WIKIDATA, Trouble.HANGS)],
    14: [(Service.MODEL, Trouble.RESETS)],
    15: [(Service.MODEL, Trouble.ERRORS)],
}
HARROWMERE = RAGInput(70101, "Harrowmere Rovers")
MALI = RAGInput(1500, "Mali")


@dataclass(frozen=True)
class Feed:
    """The one question that aliases have for the feed."""

    http: httpx.AsyncClient
    url: str

    async def team(self, team_id: int) -> dict[str, Any] | None:
        answer = await self.http.get(f"{self.url}/football/teams?id={team_id}", headers={"x-apisports-key": "world"})
        if answer.status_code != 200:
            raise Unavailable("the feed does not answer")
        return next(iter(answer.json()["response"]), None)


@dataclass(frozen=True)
class Knowing:
    """Everything that knows something of teams, at a time that the test chooses."""

    maker: AliasMaker
    hasty: AliasMaker  # for what never answers
    wall: ManualClock

    async def make(self, asked: RAGInput, minute: int = WELL) -> Made:
        self.wall.advance(STARTS + timedelta(minutes=minute, seconds=1) - self.wall.now())
        return await (self.hasty if minute == HANGING else self.maker).make(asked)


@pytest.fixture(scope="module")
async def knowing(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Knowing]:
    faults = tuple(
        Fault(service, trouble, minute * MINUTE, (minute + 1) * MINUTE)
        for minute, all_of_it in TROUBLES.items()
        for service, trouble in all_of_it
    )
    world, wall = world_of(replace(a_day(), faults=faults), tmp_path_factory.mktemp("knowing"), WELL)
    async with served(build_app(world)) as url, httpx.AsyncClient(trust_env=False) as http:
        model = ModelClient(ModelSettings(url=f"{url}/model/v1", key=SecretStr("sk-world")), http)
        patient = AliasSettings(wikidata_url=f"{url}/wikidata", wikidata_timeout=timedelta(seconds=20))
        hasty = AliasSettings(wikidata_url=f"{url}/wikidata", wikidata_timeout=timedelta(seconds=1))
        maker, in_haste = (
            AliasMaker(Feed(http, url), WikidataClient(settings, http), model, settings, wall)
            for settings in (patient, hasty)
        )
        yield Knowing(maker, in_haste, wall)


def lasts(made: Made) -> bool:
    return made.expires_at is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (HARROWMERE, {"Harrowmere", "Rovers", "HRFC", "Millers", "HAR"}),
        (RAGInput(70106, "Port Ellery"), {"Ellery", "Dockers", "PEFC"}),
        (RAGInput(70306, "VfB Ostertal"), {"Ostertal", "Schwaben"}),
        (RAGInput(70203, "CD Puerto Viejo"), {"Puerto", "Submarino", "CDPV"}),
        (RAGInput(70304, "TSG Weißenfels"), {"Weißenfels", "Schwäne"}),
        (MALI, {"Mali", "Malian", "Aigles"}),
        (RAGInput(6, "Brazil"), {"Brazil", "Brazilian", "Seleção"}),
    ],
)
async def test_words_that_people_use(knowing: Knowing, asked: RAGInput, words: set[str]) -> None:
    made = await knowing.make(asked)
    assert words <= {*made.words}
    assert len(made.words) <= 5
    assert (made.source, lasts(made)) == ("model", True)
    assert made.item is not None
    assert made.team.facts.national is (asked.team_id < 70000)


@pytest.mark.parametrize("team_id", range(70101, 70109))
async def test_a_talkative_model_is_understood_or_done_without(knowing: Knowing, team_id: int) -> None:
    team = next(team for _, team in get_catalogue().teams if team.id == team_id)
    made = await knowing.make(RAGInput(team_id, team.name), 1)
    allowed = {word.casefold() for name in (team.name, team.code, *team.words) for word in name.split()}
    assert {word.casefold() for word in made.words} <= allowed
    assert len(made.words) >= 2
    assert lasts(made) is (made.source == "model")


@pytest.mark.parametrize("minute", [2, 3, 4, 5, 14, 15])
async def test_without_a_model_rules_choose_among_what_was_found(knowing: Knowing, minute: int) -> None:
    made = await knowing.make(HARROWMERE, minute)
    assert made.words == ("Harrowmere", "Rovers", "HRFC", "HAR", "Millers")
    assert (made.source, lasts(made), made.item is not None) == ("rules", False, True)


@pytest.mark.parametrize("minute", [6, 7, 8, 9, 10, HANGING])
async def test_without_wikidata_the_name_has_to_do(knowing: Knowing, minute: int) -> None:
    made = await knowing.make(HARROWMERE, minute)
    assert made.words == ("Harrowmere", "Rovers")
    assert (made.source, made.item) == ("rules", None)
    assert made.expires_at == made.made_at + AliasSettings().rules_expire


async def test_without_the_feed_a_country_is_a_national_team(knowing: Knowing) -> None:
    made = await knowing.make(MALI, 11)
    assert {"Mali", "Malian", "Aigles"} <= {*made.words}
    assert (made.source, lasts(made)) == ("model", False)


async def test_a_team_that_nobody_knows(knowing: Knowing) -> None:
    made = await knowing.make(RAGInput(1, "Nowhere United"))
    assert made.words == ("Nowhere", "United")
    assert not lasts(made)


async def test_words_are_kept_until_they_expire(knowing: Knowing, database: Database, objects: ObjectStore) -> None:
    context = await new_context(database, objects, knowing.wall)
    activities = AliasActivities(context, knowing.maker)
    run = ActivityEnvironment().run
    assert (await run(activities.get_cached_team_aliases, HARROWMERE.team_id)).found is False

    await knowing.make(HARROWMERE, 10)  # nobody answers at this time
    by_rules = await run(activities.get_team_aliases, HARROWMERE)
    cached = await run(activities.get_cached_team_aliases, HARROWMERE.team_id)
    assert (cached.found, cached.words, cached.source) == (True, by_rules, "rules")

    knowing.wall.advance(AliasSettings().rules_expire)
    assert (await run(activities.get_cached_team_aliases, HARROWMERE.team_id)).found is False

    await knowing.make(HARROWMERE, WELL)
    words = await run(activities.get_team_aliases, HARROWMERE)
    assert "HRFC" in words
    knowing.wall.advance(timedelta(days=300))
    cached = await run(activities.get_cached_team_aliases, HARROWMERE.team_id)
    assert (cached.found, cached.words, cached.source) == (True, words, "model")
    assert (cached.national, cached.country, cached.city) == (False, "England", "Harrowmere")

    await knowing.make(HARROWMERE, 10)
    assert await run(activities.get_team_aliases, HARROWMERE) == words, "what rules make does not replace what lasts"
