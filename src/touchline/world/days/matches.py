"""One match of a day: its script, with everything that was left open decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from touchline.kernel.errors import InvalidInput

from . import recipes, telling
from .catalogue import catalogue
from .chance import dice
from .model import Fixture, Goal, League, Outcome, Player, Post, ShownStatus, Shuffle
from .moments import MINUTE
from .posting import Desk, Story, chatter, goal_posts
from .recipes import Board
from .resolving import Sides, any_attacker, find_player, other, sides
from .script import AnyIncident, GoalIncident, Match, SaidStatus, Script, Substitution, Which
from .telling import AnyHappening, GoalHappening, Happening, Kick
from .timeline import Timeline, timeline

FIRST_FIXTURE = 9_000_000
IDS_OF_A_PLAYING = 100_000  # more than any id of a team


@dataclass(frozen=True, slots=True)
class BuiltMatch:
    fixture: Fixture
    goals: tuple[Goal, ...]
    posts: tuple[Post, ...]
    ends_ms: int


@dataclass(frozen=True, slots=True)
class Ground:
    """What the parts of a match need to know of it."""

    script: Script
    match: Match
    field: str
    sides: Sides
    line: Timeline
    fixture_id: int

    @property
    def path(self) -> tuple[object, ...]:
        return self.script.seed, self.sides.home.id, self.sides.away.id


def build_match(script: Script, match: Match, number: int, leagues: Mapping[int, League]) -> BuiltMatch:
    field = f"matches[{number}]"
    teams = sides(match, field)
    ground = Ground(script, match, field, teams, timeline(match, field), _fixture_id(script, teams))
    happenings = _happenings(ground)
    goals = [each for each in happenings if isinstance(each, GoalHappening)]
    truth = tuple(_truth(ground, goal, goals) for goal in goals)
    desk, stories = _stories(ground, goals, truth)
    posts = [post for n, story in enumerate(stories) for post in goal_posts(desk, story, stories[:n])]
    span = match.kick_off - 20 * MINUTE, ground.line.ends_ms + 10 * MINUTE
    posts += chatter(desk, (teams.home, teams.away), max(span[0], 0), span[1], match.chatter)
    fixture = _fixture(ground, happenings, _league(ground, leagues))
    return BuiltMatch(fixture, truth, tuple(posts), _settled(fixture))


def _fixture_id(script: Script, teams: Sides) -> int:
    return FIRST_FIXTURE + (script.playing - 1) * IDS_OF_A_PLAYING + teams.home.id


def _settled(fixture: Fixture) -> int:
    """When the feed has said its last word."""
    words = [*fixture.phases, *fixture.scores, *fixture.shoot_out, *fixture.entries]
    return max([*(each.from_ms for each in words), *(each.until_ms or 0 for each in fixture.entries)])


def _league(ground: Ground, leagues: Mapping[int, League]) -> League:
    wanted = ground.match.league or catalogue().league_of(ground.sides.home)
    if wanted not in leagues:
        raise InvalidInput(
            f"there is no league {wanted}",
            field=f"{ground.field}.league",
            why=f"there are {', '.join(f'{each.id} ({each.name})' for each in leagues.values())}",
            hint="Name one of them, or leave it out: it is then the one of the home team.",
        )
    return leagues[wanted]


def _happenings(ground: Ground) -> list[AnyHappening]:
    """In the order of the match."""
    incidents = ground.match.incidents or ()
    if incidents and not ground.line.periods:
        raise InvalidInput(
            "a match that is not played has no incidents",
            field=f"{ground.field}.incidents",
            hint="Take them out, or give a postponed match a `late_kick_off`.",
        )
    found = [_timed(ground, incident, n) for n, incident in enumerate(incidents)]
    numbers = dict[bool, int]()
    happenings = list[AnyHappening]()
    for place, (at_ms, second, n, incident) in enumerate(sorted(found, key=lambda each: each[:3]), 1):
        is_goal = isinstance(incident, GoalIncident)
        numbers[is_goal] = numbers.get(is_goal, 0) + 1
        key = f"{FIRST_FIXTURE + ground.sides.home.id}/{numbers[is_goal]}"  # the same in every playing
        happenings.append(_happening(ground, incident, n, (key, place * telling.PLACES, at_ms, second)))
    return happenings


def _timed(ground: Ground, incident: AnyIncident, n: int) -> tuple[int, int, int, AnyIncident]:
    second = incident.second
    if second is None:
        second = dice(*ground.path, "second", n).randrange(8, 56)
    return ground.line.at(incident.minute, second, f"{ground.field}.incidents[{n}].minute"), second, n, incident


def _happening(ground: Ground, incident: AnyIncident, n: int, at: tuple[str, int, int, int]) -> AnyHappening:
    field, draw = f"{ground.field}.incidents[{n}]", dice(*ground.path, "players", n)
    is_own_goal = isinstance(incident, GoalIncident) and incident.kind == "own_goal"
    squad = ground.sides.squad(other(incident.side) if is_own_goal else incident.side)

    def named(name: str | None, key: str, *but: Player) -> Player:
        return find_player(name, squad, f"{field}.{key}") if name else any_attacker(draw, squad, but)

    player, team_id = named(incident.player, "player"), ground.sides.team(incident.side).id
    if isinstance(incident, Substitution):
        return Happening(incident, *at, team_id, player, named(incident.replaced_by, "replaced_by", player))
    if not isinstance(incident, GoalIncident):
        return Happening(incident, *at, team_id, player, None)
    has_assist = incident.kind == "goal" and (incident.assist is not None or draw.random() < 0.7)
    assist = named(incident.assist, "assist", player) if has_assist else None
    correction = incident.corrected
    corrected = None
    if correction and (correction.player or correction.minute is None):
        but = [each for each in (player, assist) if each]
        corrected = named(correction.player, "corrected.player", *but)
    return GoalHappening(incident, *at, team_id, player, assist, corrected)


def _truth(ground: Ground, goal: GoalHappening, goals: Sequence[GoalHappening]) -> Goal:
    minute, annulled = goal.minute, goal.annulled_ms
    final = _board(goals, goal, in_the_end=annulled is None)
    return Goal(
        goal.key,
        ground.fixture_id,
        goal.team_id,
        goal.scorer,
        telling.DETAILS[goal.incident.kind],
        minute.elapsed,
        minute.extra or None,
        goal.at_ms,
        final.after,
        Outcome.STANDS if annulled is None else Outcome.ANNULLED,
        annulled,
    )


def _board(goals: Sequence[GoalHappening], goal: GoalHappening, *, in_the_end: bool) -> Board:
    """The score before and after a goal: without what was annulled in the end, or as it stood then."""
    counted = [
        each.incident.side
        for each in goals
        if each.at_ms < goal.at_ms and (each.annulled_ms is None or (not in_the_end and each.annulled_ms > goal.at_ms))
    ]
    home, away = counted.count(Which.HOME), counted.count(Which.AWAY)
    is_home = goal.incident.side is Which.HOME
    return Board((home, away), (home + is_home, away + (not is_home)))


def _stories(ground: Ground, goals: Sequence[GoalHappening], truth: Sequence[Goal]) -> tuple[Desk, list[Story]]:
    home, away = ground.sides.home, ground.sides.away
    look = recipes.look(dice(*ground.path, "look"), home, away, ground.match.style)
    old = recipes.old_take(dice(*ground.path, "old"), look, {goal.incident.minute.elapsed for goal in goals})
    desk = Desk(ground.script.date, ground.path, look, old, f"#{home.code}{away.code}")
    stories = list[Story]()
    for goal, true in zip(goals, truth, strict=True):
        posts, draw = goal.incident.posts, dice(*ground.path, "takes", goal.key)
        takes = recipes.goal_takes(draw, look, goal, _board(goals, goal, in_the_end=False), posts.takes)
        stories.append(Story(true, ground.sides.team(goal.incident.side), (home, away), takes, posts))
    return desk, stories


def _fixture(ground: Ground, happenings: Sequence[AnyHappening], league: League) -> Fixture:
    goals = [each for each in happenings if isinstance(each, GoalHappening)]
    others = [each for each in happenings if not isinstance(each, GoalHappening)]
    entries = [*chain.from_iterable(map(telling.goal_entries, goals)), *telling.other_entries(others)]
    line, match, sides_ = ground.line, ground.match, ground.sides
    kicks, penalties = (
        telling.shoot_out(_kicks(ground), line, (len(happenings) + 1) * telling.PLACES) if match.shoot_out else ([], [])
    )
    scores = telling.scores(line.periods[0].starts_ms, goals) if line.periods else ()
    return Fixture(
        ground.fixture_id,
        league,
        match.round,
        sides_.home,
        sides_.away,
        sides_.squads,
        match.kick_off,
        line.phases,
        tuple(sorted([*entries, *kicks], key=lambda each: (each.place, each.from_ms))),
        scores,
        tuple(penalties),
        _shuffles(ground),
        tuple(map(_status, match.statuses)),
    )


def _kicks(ground: Ground) -> list[Kick]:
    """Home begins; each side goes through its squad from the last name back."""
    shoot_out = ground.match.shoot_out
    if shoot_out is None:
        return []

    def of(which: Which, letters: str) -> list[Kick]:
        squad, team = ground.sides.squad(which), ground.sides.team(which)
        return [
            Kick(team.id, which is Which.HOME, squad[-1 - n % len(squad)], each == "g")
            for n, each in enumerate(letters)
        ]

    turns = zip_longest(of(Which.HOME, shoot_out.home), of(Which.AWAY, shoot_out.away))
    return [kick for turn in turns for kick in turn if kick]


def _shuffles(ground: Ground) -> tuple[Shuffle, ...]:
    shuffles = list[Shuffle]()
    for n, each in enumerate(ground.match.reordered):
        starts = ground.line.at(each.minute, 0, f"{ground.field}.reordered[{n}].minute")
        shuffles.append(Shuffle(starts, starts + each.lasts, dice(*ground.path, "shuffle", n).getrandbits(31)))
    return tuple(shuffles)


def _status(said: SaidStatus) -> ShownStatus:
    return ShownStatus(said.at, said.at + said.lasts if said.lasts else None, said.status)
