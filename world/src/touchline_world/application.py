"""The whole outside world as one application: every service under its own path."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.routing import Mount

from touchline_world.feed.routes import FeedAccount as FootballAccount
from touchline_world.language_model.vision import PictureRecogniser
from touchline_world.social.cdn import RequestCounts, SlowRate
from touchline_world.social.routes import NetworkAccount

from .feed import routes as football
from .frames import Posters
from .language_model import routes as assistant
from .overview import routes as overview
from .social import cdn, routes as social, syndication
from .wikidata import routes as wikidata
from .world import World

ACCOUNT = NetworkAccount("touchline", "offside")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What its clients must know. A simulated world has no secrets: these are only there to be asked for."""

    account: NetworkAccount = ACCOUNT
    model_key: str = "sk-world"
    football_key: str = "world"

    def by_name(self) -> dict[str, str]:
        return {
            "Network user": self.account.user,
            "Network password": self.account.password,
            "Model key": self.model_key,
            "Football key": self.football_key,
        }


def build_app(
    world: World,
    access: Credentials | None = None,
    pace: SlowRate | None = None,
    sight: PictureRecogniser | None = None,
) -> Starlette:
    access = access or Credentials()
    return Starlette(
        routes=[
            Mount("/football", routes=football.routes(world, FootballAccount(access.football_key))),
            Mount("/social", routes=social.routes(world, access.account)),
            Mount("/syndication", routes=syndication.routes(world)),
            Mount("/media", routes=cdn.routes(world, Posters(), RequestCounts(), pace)),
            Mount("/wikidata", routes=wikidata.routes(world)),
            Mount("/model", routes=assistant.routes(world, access.model_key, sight or PictureRecogniser(world))),
            *overview.routes(world, access.by_name()),
        ]
    )
