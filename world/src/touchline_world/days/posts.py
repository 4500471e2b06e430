"""What people post about goals and matches: authors, texts in several languages (typos included), videos. Every post
says what its videos really show.

Invariant: ids rise with time and have 19 digits, as those of the real network have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from random import Random

from touchline.kernel import epoch_ms
from touchline_world.videos.model import Copy, Look, Recipe, Take, TakeKind

from .catalogue import fold_accents
from .model import Author, Clip, Delivery, Goal, Player, Post, Relation, Team
from .recipes import ELSEWHERE, copy_of, family_name, other_take, play_take, usual_transform
from .script import Posts
from .values import MINUTE, seeded_random

FIRST = ("Mia", "Tom", "Nadia", "José", "Łucja", "Kofi", "Ingrid", "Marco", "Élodie", "Sam", "Zoë", "Björn", "Ayşe")
PAGES = ("GoalFactory", "FootyClips", "NetBusters", "TopBinz", "GolazoDaily", "EveryGoalHD")
BRANDS = ("BetNorth", "KickStream", "ShirtDepot", "SnackAttack")


def club_author(team: Team) -> Author:
    return Author(str(10_000_000 + team.id), team.name, f"{_plain(team.name)[:11]}_{team.code}", is_verified=True)


def fan_author(draw: Random, team: Team) -> Author:
    name, number = draw.choice(FIRST), draw.randrange(10_000_000, 99_999_999)
    return Author(
        f"14{number}00{team.id}", f"{name} ({team.words[0]})", f"{_plain(name)}{number % 10_000}", is_verified=False
    )


def page_author(draw: Random) -> Author:
    number = draw.randrange(len(PAGES))
    return Author(str(20_000_000 + number), PAGES[number], PAGES[number].lower(), is_verified=number % 2 == 0)


def brand_author(draw: Random) -> Author:
    number = draw.randrange(len(BRANDS))
    return Author(str(30_000_000 + number), BRANDS[number], BRANDS[number].lower(), is_verified=True)


def any_author(draw: Random, team: Team) -> Author:
    return page_author(draw) if draw.random() < 0.35 else fan_author(draw, team)


def _plain(name: str) -> str:
    return "".join(each for each in fold_accents(name) if each.isascii() and each.isalnum())


TEMPLATES: dict[str, tuple[str, ...]] = {
    "en": (
        "GOAL! {player} scores for {team} {score} {emoji}",
        "{player}!!!! What a finish, {team} {score} {emoji} {tag}",
        "{minute}' {player} with the goal for {team} {emoji}",
        "Have a look at this from {player} {emoji} {team} {tag}",
        "{team} fans going wild, {player} makes it {score} {tag}",
        "{player} you beauty {emoji}{emoji} #{team}",
    ),
    "es": (
        "¡GOOOOL de {player}! {team} {score} {emoji}",
        "Golazo de {player} para el {team} {emoji} {tag}",
        "{player} marca el {score}, vamos {team} {emoji}",
    ),
    "de": (
        "TOOOR! {player} trifft für {team} zum {score} {emoji}",
        "{player} macht das {score} {emoji} {team} {tag}",
        "Was für ein Tor von {player}! {team}",
    ),
    "fr": (
        "BUT de {player} ! {team} {score} {emoji}",
        "{player} quelle frappe {emoji} {team} {tag}",
        "Le but de {player} pour {team} ({minute}e) {tag}",
    ),
    "it": (
        "GOOOL di {player}! {team} {score} {emoji}",
        "Che gol {player} {emoji} forza {team} {tag}",
        "{player} segna il {score} {team}",
    ),
}
OWN_GOALS = ("Own goal by {player} {emoji} {team} {score}", "{player} puts it into his own net... {team} {score} {tag}")
CLUB = ("⚽ {minute}' GOAL! {player} makes it {score}. {tag} #{team}", "{player}! {score} {emoji} {tag} {team}")
AGAIN = (
    "{player} {team} goal {emoji}",
    "never forget this {player} goal {emoji} {team}",
    "{player} magic, {team} {tag}",
)
TALK = (
    "what a player {player} is, {team} {emoji}",
    "{team}: {player} speaks after the goal",
    "{player} {team} highlights",
)
QUOTING = ("{player} {emoji} {team} look at that", "How does {player} score that?? {team}", "{team} {player} {emoji}")
ADVERTS = (
    "{player} scored for {team}? Odds boosted, sign up today",
    "Watch {team} and {player} live with 50% off",
    "New {team} shirts, print {player} for free",
)
CHATTER = (
    "{team} matchday {emoji} {tag}",
    "come on {team}",
    "traffic around the ground is terrible today #{team}",
    "{team} have not woken up yet",
    "is the {team} match on tv anywhere?",
    "half time pie, then more {team} {emoji}",
    "that referee again... {team} {tag}",
    "{team} talk in the studio now",
)
EMOJIS = ("🔥", "⚽", "😱", "🚀", "🤯", "👏", "❤️", "🎯")
LANGUAGES = {"England": "en", "Spain": "es", "Germany": "de", "Italy": "it", "France": "fr"}


@dataclass(frozen=True, slots=True)
class PostSubject:
    """What a post is about."""

    team: Team
    player: Player | None
    minute: str
    score: str
    tag: str
    is_own_goal: bool = False


def goal_text(draw: Random, subject: PostSubject) -> tuple[str, str]:
    """The text, and its language: the country's own, or English."""
    language = LANGUAGES.get(subject.team.country, "en") if draw.random() < 0.6 else "en"
    templates = OWN_GOALS if subject.is_own_goal else TEMPLATES[language]
    return write_text(draw, templates, subject), "en" if subject.is_own_goal else language


def write_text(draw: Random, templates: tuple[str, ...], subject: PostSubject) -> str:
    team = draw.choice(subject.team.words)
    return draw.choice(templates).format(
        player=player_word(draw, subject.player) if subject.player else "",
        team=team.replace(" ", ""),
        minute=subject.minute,
        score=subject.score,
        tag=subject.tag,
        emoji=draw.choice(EMOJIS),
    )


def player_word(draw: Random, player: Player) -> str:
    """The family name, with its accents or as a foreign keyboard has it."""
    name = family_name(player)
    if draw.random() < 0.5:
        name = fold_accents(name).title()
    return name.upper() if draw.random() < 0.15 else name


def misspell_player(draw: Random, text: str, player: Player) -> str:
    """Two letters of the name in the wrong order, wherever it stands."""
    name = family_name(player)
    at = draw.randrange(len(name) // 2, len(name) - 1) if len(name) > 3 else 0
    wrong = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    wrong = wrong if wrong != name else name + "h"
    for written in (name, name.upper(), fold_accents(name).title(), fold_accents(name).title().upper()):
        text = text.replace(written, wrong)
    return text


NETWORK_STARTED_MS = 1_288_834_974_657  # its ids count milliseconds from here
LOW_BITS = 22


@dataclass(frozen=True, slots=True)
class MatchTopic:
    """What every post of a match has in common."""

    date: date
    path: tuple[object, ...]  # of the dice
    look: Look
    old: Take  # of another season
    tag: str

    def draw(self, *parts: object) -> Random:
        return seeded_random(*self.path, *parts)

    def id(self, draw: Random, at_ms: int) -> str:
        midnight = epoch_ms(datetime(self.date.year, self.date.month, self.date.day, tzinfo=UTC))
        return str((midnight + at_ms - NETWORK_STARTED_MS) << LOW_BITS | draw.getrandbits(LOW_BITS))

    def post(self, draw: Random, at_ms: int, author: Author, text: str, clips: tuple[Clip, ...] = ()) -> Post:
        likes = int(5 * draw.paretovariate(0.9)) % 60_000
        return Post(self.id(draw, at_ms), at_ms, author, text, clips, None, likes=likes, reposts=likes // 7)


@dataclass(frozen=True, slots=True)
class GoalTopic:
    """A goal, with all that posts about it need."""

    goal: Goal
    team: Team
    teams: tuple[Team, Team]
    takes: tuple[Take, ...]
    plan: Posts

    def subject(self, draw: Random, tag: str) -> PostSubject:
        """People write of either side; the words of both find an own goal."""
        is_own_goal = self.goal.detail == "Own Goal"
        team = draw.choice(self.teams) if is_own_goal else self.team
        minute = f"{self.goal.elapsed}+{self.goal.extra}" if self.goal.extra else str(self.goal.elapsed)
        return PostSubject(team, self.goal.player, minute, "{}-{}".format(*self.goal.score), tag, is_own_goal)


def goal_posts(match_topic: MatchTopic, topic: GoalTopic, earlier: Sequence[GoalTopic]) -> list[Post]:
    plan = topic.plan
    posts = _copies(match_topic, topic)
    posts = _removed(_misspelt(match_topic, topic, posts), plan.removed)
    posts += [_look_alike(match_topic, topic, earlier, n) for n in range(plan.look_alikes)]
    posts += [_unrelated(match_topic, topic, n) for n in range(plan.unrelated)]
    posts += [_promoted(match_topic, topic, n) for n in range(plan.promoted)]
    originals = [post for post in posts if post.clips]
    posts += [_quote(match_topic, topic, originals, n) for n in range(plan.quotes) if originals]
    return [replace(post, about=topic.goal.key) for post in posts]


def _moment(draw: Random, topic: GoalTopic, n: int, many: int) -> int:
    """Most of them early, one of them at once."""
    plan = topic.plan
    share = min((n + draw.random()) / max(many, 1), 1.0) ** 2
    return (
        topic.goal.at_ms + plan.first_after + int((max(plan.last_after, plan.first_after) - plan.first_after) * share)
    )


def _copies(match_topic: MatchTopic, topic: GoalTopic) -> list[Post]:
    plan, posts, made = topic.plan, list[Post](), list[tuple[Take, Copy]]()
    for n in range(plan.copies):
        draw = match_topic.draw(topic.goal.key, "copy", n)
        clips = [_copy(draw, topic, n, made)]
        if n < plan.several_videos:
            clips.append(_copy(draw, topic, n + plan.copies, made))
        subject = topic.subject(draw, match_topic.tag)
        text, language = goal_text(draw, subject)
        author = any_author(draw, subject.team)
        if n == 1 and not subject.is_own_goal:
            author, text, language = club_author(subject.team), write_text(draw, CLUB, subject), "en"
        post = match_topic.post(draw, _moment(draw, topic, n, plan.copies), author, text, tuple(clips))
        posts.append(replace(post, language=language))
    return posts


def _copy(draw: Random, topic: GoalTopic, n: int, made: list[tuple[Take, Copy]]) -> Clip:
    """Now and then somebody posts the very bytes that somebody else has posted."""
    plan = topic.plan
    take = topic.takes[n % 3 == 2 and len(topic.takes) > 1]
    if plan.transforms:
        copy = copy_of(draw, take, plan.transforms[n % len(plan.transforms)])
    elif len(made) > 2 and draw.random() < 0.15:
        take, copy = draw.choice(made)
    else:
        copy = copy_of(draw, take, usual_transform(draw))
    made.append((take, copy))
    late = n - (plan.copies - len(plan.deliveries))
    delivery = plan.deliveries[late] if 0 <= late < len(plan.deliveries) else Delivery.WHOLE
    return Clip(Recipe(take, copy), Relation.COPY, topic.goal.key, delivery)


def _misspelt(match_topic: MatchTopic, topic: GoalTopic, posts: list[Post]) -> list[Post]:
    """The last ones: nobody who searches for the name finds them."""
    many = min(topic.plan.misspelt, len(posts))
    draw = match_topic.draw(topic.goal.key, "misspelt")
    wrong = [
        replace(post, text=misspell_player(draw, post.text, topic.goal.player)) for post in posts[len(posts) - many :]
    ]
    return [*posts[: len(posts) - many], *wrong]


def _removed(posts: list[Post], many: int) -> list[Post]:
    return [replace(post, removed_ms=post.at_ms + 2 * MINUTE) if n < many else post for n, post in enumerate(posts)]


def _look_alike(match_topic: MatchTopic, topic: GoalTopic, earlier: Sequence[GoalTopic], n: int) -> Post:
    draw = match_topic.draw(topic.goal.key, "look_alike", n)
    others = [each for each in earlier if abs(each.goal.elapsed - topic.goal.elapsed) > 3]
    if others and draw.random() < 0.6:
        seen = draw.choice(others)
        take, relation, goal = seen.takes[0], Relation.OTHER_GOAL, seen.goal.key
    else:
        take, relation, goal = match_topic.old, Relation.LOOK_ALIKE, None
    copy = copy_of(draw, take, usual_transform(draw))
    clip = Clip(Recipe(take, copy), relation, goal)
    subject = topic.subject(draw, match_topic.tag)
    text = write_text(draw, AGAIN, subject)
    return match_topic.post(draw, _moment(draw, topic, 0, 1), any_author(draw, subject.team), text, (clip,))


def _unrelated(match_topic: MatchTopic, topic: GoalTopic, n: int) -> Post:
    draw = match_topic.draw(topic.goal.key, "unrelated", n)
    kind = draw.choice((*ELSEWHERE, TakeKind.PLAY))
    take = play_take(match_topic.draw("play"), match_topic.look) if kind is TakeKind.PLAY else other_take(draw, kind)
    clip = Clip(Recipe(take, copy_of(draw, take, usual_transform(draw))), Relation.UNRELATED, None)
    subject = topic.subject(draw, match_topic.tag)
    text = write_text(draw, TALK, subject)
    return match_topic.post(draw, _moment(draw, topic, 0, 1), any_author(draw, subject.team), text, (clip,))


def _promoted(match_topic: MatchTopic, topic: GoalTopic, n: int) -> Post:
    draw = match_topic.draw(topic.goal.key, "promoted", n)
    take = other_take(draw, TakeKind.ADVERT)
    clip = Clip(Recipe(take, Copy(height=480)), Relation.UNRELATED, None)
    text = write_text(draw, ADVERTS, topic.subject(draw, match_topic.tag))
    post = match_topic.post(draw, _moment(draw, topic, 0, 1), brand_author(draw), text, (clip,))
    return replace(post, is_promoted=True)


def _quote(match_topic: MatchTopic, topic: GoalTopic, originals: Sequence[Post], n: int) -> Post:
    draw = match_topic.draw(topic.goal.key, "quote", n)
    quoted = draw.choice(originals)
    subject = topic.subject(draw, match_topic.tag)
    at_ms = quoted.at_ms + draw.randrange(15_000, 4 * MINUTE)
    text = write_text(draw, QUOTING, subject)
    return replace(
        match_topic.post(draw, at_ms, fan_author(draw, subject.team), text),
        quoted=replace(quoted, about=topic.goal.key),
    )


def chatter(match_topic: MatchTopic, teams: tuple[Team, Team], from_ms: int, until_ms: int, many: int) -> list[Post]:
    """About the match and no goal; one in three with a video."""
    posts = list[Post]()
    for n in range(many):
        draw = match_topic.draw("chatter", n)
        subject = PostSubject(draw.choice(teams), None, "", "", match_topic.tag)
        clips = ()
        if n % 3 == 0:
            take = other_take(draw, draw.choice(ELSEWHERE))
            clips = (Clip(Recipe(take, copy_of(draw, take, usual_transform(draw))), Relation.UNRELATED, None),)
        text = write_text(draw, CHATTER, subject)
        at_ms = draw.randrange(from_ms, max(until_ms, from_ms + 1))
        posts.append(match_topic.post(draw, at_ms, fan_author(draw, subject.team), text, clips))
    return posts
