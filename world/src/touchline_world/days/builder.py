"""A day, built from its script: everything that will be played, reported and posted, known in advance.

Invariant: `build` is pure, and every match draws from a generator of its own: adding one does not change the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from touchline.kernel import InvalidInput

from . import catalogue, recipes, timeline
from .catalogue import Sides, any_attacker, find_player, find_sides, get_catalogue, other_side
from .generator import add_incidents
from .model import Day, Fault, Fixture, Goal, League, Outcome, Player, Post, Shuffle, StatusOverride
from .posts import GoalTopic, MatchTopic, chatter, goal_posts
from .recipes import ScoreAround
from .script import AnyIncident, GoalIncident, Match, MatchSide, Script, ScriptedStatus, Substitution
from .timeline import AnyResolvedIncident, Kick, ResolvedGoal, ResolvedIncident, Timeline, build_timeline
from .values import MINUTE, seeded_random

FIRST_FIXTURE = 9_000_000
IDS_OF_A_PLAYING = 100_000  # more than any id of a team


@dataclass(frozen=True, slots=True)
class BuiltMatch:
    fixture: Fixture
    goals: tuple[Goal, ...]
    posts: tuple[Post, ...]
    ends_ms: int


@dataclass(frozen=True, slots=True)
class MatchContext:
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
    teams = find_sides(match, field)
    context = MatchContext(script, match, field, teams, build_timeline(match, field), _fixture_id(script, teams))
    happenings = _happenings(context)
    goals = [each for each in happenings if isinstance(each, ResolvedGoal)]
    truth = tuple(_truth(context, goal, goals) for goal in goals)
    match_topic, topics = _goal_topics(context, goals, truth)
    posts = [post for n, topic in enumerate(topics) for post in goal_posts(match_topic, topic, topics[:n])]
    span = match.kick_off - 20 * MINUTE, context.line.ends_ms + 10 * MINUTE
    posts += chatter(match_topic, (teams.home, teams.away), max(span[0], 0), span[1], match.chatter)
    fixture = _fixture(context, happenings, _league(context, leagues))
    return BuiltMatch(fixture, truth, tuple(posts), _settled(fixture))


def _fixture_id(script: Script, teams: Sides) -> int:
    return FIRST_FIXTURE + (script.playing - 1) * IDS_OF_A_PLAYING + teams.home.id


def _settled(fixture: Fixture) -> int:
    """When the feed has said its last word."""
    words = [*fixture.phases, *fixture.scores, *fixture.shoot_out, *fixture.entries]
    return max([*(each.from_ms for each in words), *(each.until_ms or 0 for each in fixture.entries)])


def _league(context: MatchContext, leagues: Mapping[int, League]) -> League:
    wanted = context.match.league or get_catalogue().league_of(context.sides.home)
    if wanted not in leagues:
        raise InvalidInput(
            f"there is no league {wanted}",
            field=f"{context.field}.league",
            why=f"there are {', '.join(f'{each.id} ({each.name})' for each in leagues.values())}",
            hint="Use one of these, or leave it out to use the home team's league.",
        )
    return leagues[wanted]


def _happenings(context: MatchContext) -> list[AnyResolvedIncident]:
    """In the order of the match."""
    incidents = context.match.incidents or ()
    if incidents and not context.line.periods:
        raise InvalidInput(
            "a match that is not played has no incidents",
            field=f"{context.field}.incidents",
            hint="Remove them, or give a postponed match a `late_kick_off`.",
        )
    found = [_timed(context, incident, n) for n, incident in enumerate(incidents)]
    numbers = dict[bool, int]()
    happenings = list[AnyResolvedIncident]()
    for place, (at_ms, second, n, incident) in enumerate(sorted(found, key=lambda each: each[:3]), 1):
        is_goal = isinstance(incident, GoalIncident)
        numbers[is_goal] = numbers.get(is_goal, 0) + 1
        key = f"{FIRST_FIXTURE + context.sides.home.id}/{numbers[is_goal]}"  # the same in every playing
        happenings.append(_happening(context, incident, n, (key, place * timeline.PLACES, at_ms, second)))
    return happenings


def _timed(context: MatchContext, incident: AnyIncident, n: int) -> tuple[int, int, int, AnyIncident]:
    second = incident.second
    if second is None:
        second = seeded_random(*context.path, "second", n).randrange(8, 56)
    return context.line.at(incident.minute, second, f"{context.field}.incidents[{n}].minute"), second, n, incident


def _happening(
    context: MatchContext, incident: AnyIncident, n: int, at: tuple[str, int, int, int]
) -> AnyResolvedIncident:
    field, draw = f"{context.field}.incidents[{n}]", seeded_random(*context.path, "players", n)
    is_own_goal = isinstance(incident, GoalIncident) and incident.kind == "own_goal"
    squad = context.sides.squad(other_side(incident.side) if is_own_goal else incident.side)

    def named(name: str | None, key: str, *but: Player) -> Player:
        return find_player(name, squad, f"{field}.{key}") if name else any_attacker(draw, squad, but)

    player, team_id = named(incident.player, "player"), context.sides.team(incident.side).id
    if isinstance(incident, Substitution):
        return ResolvedIncident(incident, *at, team_id, player, named(incident.replaced_by, "replaced_by", player))
    if not isinstance(incident, GoalIncident):
        return ResolvedIncident(incident, *at, team_id, player, None)
    has_assist = incident.kind == "goal" and (incident.assist is not None or draw.random() < 0.7)
    assist = named(incident.assist, "assist", player) if has_assist else None
    correction = incident.corrected
    corrected = None
    if correction and (correction.player or correction.minute is None):
        but = [each for each in (player, assist) if each]
        corrected = named(correction.player, "corrected.player", *but)
    return ResolvedGoal(incident, *at, team_id, player, assist, corrected)


def _truth(context: MatchContext, goal: ResolvedGoal, goals: Sequence[ResolvedGoal]) -> Goal:
    minute, annulled = goal.minute, goal.annulled_ms
    final = _board(goals, goal, in_the_end=annulled is None)
    return Goal(
        goal.key,
        context.fixture_id,
        goal.team_id,
        goal.scorer,
        timeline.DETAILS[goal.incident.kind],
        minute.elapsed,
        minute.extra or None,
        goal.at_ms,
        final.after,
        Outcome.STANDS if annulled is None else Outcome.ANNULLED,
        annulled,
    )


def _board(goals: Sequence[ResolvedGoal], goal: ResolvedGoal, *, in_the_end: bool) -> ScoreAround:
    """The score before and after a goal: without what was annulled in the end, or as it stood then."""
    counted = [
        each.incident.side
        for each in goals
        if each.at_ms < goal.at_ms and (each.annulled_ms is None or (not in_the_end and each.annulled_ms > goal.at_ms))
    ]
    home, away = counted.count(MatchSide.HOME), counted.count(MatchSide.AWAY)
    is_home = goal.incident.side is MatchSide.HOME
    return ScoreAround((home, away), (home + is_home, away + (not is_home)))


def _goal_topics(
    context: MatchContext, goals: Sequence[ResolvedGoal], truth: Sequence[Goal]
) -> tuple[MatchTopic, list[GoalTopic]]:
    home, away = context.sides.home, context.sides.away
    look = recipes.match_look(seeded_random(*context.path, "look"), home, away, context.match.style)
    old = recipes.old_take(seeded_random(*context.path, "old"), look, {goal.incident.minute.elapsed for goal in goals})
    match_topic = MatchTopic(context.script.date, context.path, look, old, f"#{home.code}{away.code}")
    topics = list[GoalTopic]()
    for goal, true in zip(goals, truth, strict=True):
        posts, draw = goal.incident.posts, seeded_random(*context.path, "takes", goal.key)
        takes = recipes.goal_takes(draw, look, goal, _board(goals, goal, in_the_end=False), posts.takes)
        topics.append(GoalTopic(true, context.sides.team(goal.incident.side), (home, away), takes, posts))
    return match_topic, topics


def _fixture(context: MatchContext, happenings: Sequence[AnyResolvedIncident], league: League) -> Fixture:
    goals = [each for each in happenings if isinstance(each, ResolvedGoal)]
    others = [each for each in happenings if not isinstance(each, ResolvedGoal)]
    entries = [*chain.from_iterable(map(timeline.goal_entries, goals)), *timeline.other_entries(others)]
    line, match, sides_ = context.line, context.match, context.sides
    kicks, penalties = (
        timeline.shoot_out(_kicks(context), line, (len(happenings) + 1) * timeline.PLACES)
        if match.shoot_out
        else ([], [])
    )
    scores = timeline.scores(line.periods[0].starts_ms, goals) if line.periods else ()
    return Fixture(
        context.fixture_id,
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
        _shuffles(context),
        tuple(map(_status, match.statuses)),
    )


def _kicks(context: MatchContext) -> list[Kick]:
    """Home begins; each side goes through its squad from the last name back."""
    shoot_out = context.match.shoot_out
    if shoot_out is None:
        return []

    def of(which: MatchSide, letters: str) -> list[Kick]:
        squad, team = context.sides.squad(which), context.sides.team(which)
        return [
            Kick(team.id, which is MatchSide.HOME, squad[-1 - n % len(squad)], each == "g")
            for n, each in enumerate(letters)
        ]

    turns = zip_longest(of(MatchSide.HOME, shoot_out.home), of(MatchSide.AWAY, shoot_out.away))
    return [kick for turn in turns for kick in turn if kick]


def _shuffles(context: MatchContext) -> tuple[Shuffle, ...]:
    shuffles = list[Shuffle]()
    for n, each in enumerate(context.match.reordered):
        starts = context.line.at(each.minute, 0, f"{context.field}.reordered[{n}].minute")
        seed = seeded_random(*context.path, "shuffle", n).getrandbits(31)
        shuffles.append(Shuffle(starts, starts + each.lasts, seed))
    return tuple(shuffles)


def _status(said: ScriptedStatus) -> StatusOverride:
    return StatusOverride(said.at, said.at + said.lasts if said.lasts else None, said.status)


AFTERWARDS_MS = 15 * MINUTE


def build(script: Script) -> Day:
    leagues = catalogue.leagues(catalogue.season_of(script.date))
    by_id = {league.id: league for league in leagues}
    matches = [
        build_match(script, add_incidents(script.seed, match, field=f"matches[{number}]"), number, by_id)
        for number, match in enumerate(script.matches)
    ]
    _each_plays_once(matches)
    faults = tuple(Fault(each.service, each.trouble, each.at, each.at + each.lasts) for each in script.faults)
    posts = sorted((post for match in matches for post in match.posts), key=lambda post: (post.at_ms, post.id))
    ends = max([*(match.ends_ms for match in matches), *(post.at_ms for post in posts)])
    return Day(
        script.name,
        script.seed,
        script.date,
        ends + AFTERWARDS_MS,
        leagues,
        catalogue.get_catalogue().teams,
        tuple(match.fixture for match in matches),
        tuple(goal for match in matches for goal in match.goals),
        tuple(posts),
        faults,
    )


def _each_plays_once(matches: list[BuiltMatch]) -> None:
    seen = set[int]()
    for number, match in enumerate(matches):
        for side, team in (("home", match.fixture.home), ("away", match.fixture.away)):
            if team.id in seen:
                raise InvalidInput(
                    f"{team.name} plays twice on one day",
                    field=f"matches[{number}].{side}",
                    hint="Use another team: a team can play one match a day.",
                )
            seen.add(team.id)
