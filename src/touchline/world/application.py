"""The whole outside world as one application: every service under its own path."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.routing import Mount

from .context import World
from .feed import routes as football
from .feed.quota import Account as FootballAccount
from .knowledge.assistant import routes as assistant
from .knowledge.assistant.sight import Sight
from .knowledge.wikidata import routes as wikidata
from .overview import routes as overview
from .social import routes as social
from .social.account import Account
from .social.cdn import routes as cdn
from .social.cdn.answers import Visits
from .social.cdn.bodies import Pace
from .social.syndication import routes as syndication
from .stills import Stills

ACCOUNT = Account("touchline", "offside")


@dataclass(frozen=True, slots=True)
class Access:
    """What its clients must know. A simulated world has no secrets: these are only there to be asked for."""

    account: Account = ACCOUNT
    model_key: str = "sk-world"
    football_key: str = "world"

    def told(self) -> dict[str, str]:
        return {
            "Network user": self.account.user,
            "Network password": self.account.password,
            "Model key": self.model_key,
            "Football key": self.football_key,
        }


def build_app(
    world: World, access: Access | None = None, pace: Pace | None = None, sight: Sight | None = None
) -> Starlette:
    access = access or Access()
    return Starlette(
        routes=[
            Mount("/football", routes=football.routes(world, FootballAccount(access.football_key))),
            Mount("/social", routes=social.routes(world, access.account)),
            Mount("/syndication", routes=syndication.routes(world)),
            Mount("/media", routes=cdn.routes(world, Stills(), Visits(), pace)),
            Mount("/wikidata", routes=wikidata.routes(world)),
            Mount("/model", routes=assistant.routes(world, access.model_key, sight or Sight(world))),
            *overview.routes(world, access.told()),
        ]
    )
