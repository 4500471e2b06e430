"""What people post about goals and matches. Every post says what is truly to be seen in its videos.

Invariant: ids rise with time and have 19 digits, as those of the real network have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from random import Random

from touchline.kernel.clock import epoch_ms
from touchline.world.videos.model import Copy, Kind, Look, Recipe, Take

from . import authors, wording
from .chance import dice
from .model import Author, Clip, Delivery, Goal, Post, Relation, Team
from .moments import MINUTE
from .recipes import ELSEWHERE, copy_of, other_take, play_take, usual_transform
from .script import Posts
from .wording import Subject

NETWORK_STARTED_MS = 1_288_834_974_657  # its ids count milliseconds from here
LOW_BITS = 22


@dataclass(frozen=True, slots=True)
class Desk:
    """What every post of a match has in common."""

    date: date
    path: tuple[object, ...]  # of the dice
    look: Look
    old: Take  # of another season
    tag: str

    def draw(self, *parts: object) -> Random:
        return dice(*self.path, *parts)

    def id(self, draw: Random, at_ms: int) -> str:
        midnight = epoch_ms(datetime(self.date.year, self.date.month, self.date.day, tzinfo=UTC))
        return str((midnight + at_ms - NETWORK_STARTED_MS) << LOW_BITS | draw.getrandbits(LOW_BITS))

    def post(self, draw: Random, at_ms: int, author: Author, text: str, clips: tuple[Clip, ...] = ()) -> Post:
        likes = int(5 * draw.paretovariate(0.9)) % 60_000
        return Post(self.id(draw, at_ms), at_ms, author, text, clips, None, likes=likes, reposts=likes // 7)


@dataclass(frozen=True, slots=True)
class Story:
    """A goal, with all that posts about it need."""

    goal: Goal
    team: Team
    teams: tuple[Team, Team]
    takes: tuple[Take, ...]
    plan: Posts

    def subject(self, draw: Random, tag: str) -> Subject:
        """People write of either side; the words of both find an own goal."""
        is_own_goal = self.goal.detail == "Own Goal"
        team = draw.choice(self.teams) if is_own_goal else self.team
        minute = f"{self.goal.elapsed}+{self.goal.extra}" if self.goal.extra else str(self.goal.elapsed)
        return Subject(team, self.goal.player, minute, "{}-{}".format(*self.goal.score), tag, is_own_goal)


def goal_posts(desk: Desk, story: Story, earlier: Sequence[Story]) -> list[Post]:
    plan = story.plan
    posts = _copies(desk, story)
    posts = _removed(_misspelt(desk, story, posts), plan.removed)
    posts += [_look_alike(desk, story, earlier, n) for n in range(plan.look_alikes)]
    posts += [_unrelated(desk, story, n) for n in range(plan.unrelated)]
    posts += [_promoted(desk, story, n) for n in range(plan.promoted)]
    originals = [post for post in posts if post.clips]
    posts += [_quote(desk, story, originals, n) for n in range(plan.quotes) if originals]
    return [replace(post, about=story.goal.key) for post in posts]


def _moment(draw: Random, story: Story, n: int, many: int) -> int:
    """Most of them early, one of them at once."""
    plan = story.plan
    share = min((n + draw.random()) / max(many, 1), 1.0) ** 2
    return (
        story.goal.at_ms + plan.first_after + int((max(plan.last_after, plan.first_after) - plan.first_after) * share)
    )


def _copies(desk: Desk, story: Story) -> list[Post]:
    plan, posts, made = story.plan, list[Post](), list[tuple[Take, Copy]]()
    for n in range(plan.copies):
        draw = desk.draw(story.goal.key, "copy", n)
        clips = [_copy(draw, story, n, made)]
        if n < plan.several_videos:
            clips.append(_copy(draw, story, n + plan.copies, made))
        subject = story.subject(draw, desk.tag)
        text, language = wording.goal_text(draw, subject)
        author = authors.anyone(draw, subject.team)
        if n == 1 and not subject.is_own_goal:
            author, text, language = authors.club(subject.team), wording.write(draw, wording.CLUB, subject), "en"
        post = desk.post(draw, _moment(draw, story, n, plan.copies), author, text, tuple(clips))
        posts.append(replace(post, language=language))
    return posts


def _copy(draw: Random, story: Story, n: int, made: list[tuple[Take, Copy]]) -> Clip:
    """Now and then somebody posts the very bytes that somebody else has posted."""
    plan = story.plan
    take = story.takes[n % 3 == 2 and len(story.takes) > 1]
    if plan.transforms:
        copy = copy_of(draw, take, plan.transforms[n % len(plan.transforms)])
    elif len(made) > 2 and draw.random() < 0.15:
        take, copy = draw.choice(made)
    else:
        copy = copy_of(draw, take, usual_transform(draw))
    made.append((take, copy))
    late = n - (plan.copies - len(plan.deliveries))
    delivery = plan.deliveries[late] if 0 <= late < len(plan.deliveries) else Delivery.WHOLE
    return Clip(Recipe(take, copy), Relation.COPY, story.goal.key, delivery)


def _misspelt(desk: Desk, story: Story, posts: list[Post]) -> list[Post]:
    """The last ones: nobody who searches for the name finds them."""
    many = min(story.plan.misspelt, len(posts))
    draw = desk.draw(story.goal.key, "misspelt")
    wrong = [
        replace(post, text=wording.misspelt(draw, post.text, story.goal.player)) for post in posts[len(posts) - many :]
    ]
    return [*posts[: len(posts) - many], *wrong]


def _removed(posts: list[Post], many: int) -> list[Post]:
    return [replace(post, removed_ms=post.at_ms + 2 * MINUTE) if n < many else post for n, post in enumerate(posts)]


def _look_alike(desk: Desk, story: Story, earlier: Sequence[Story], n: int) -> Post:
    draw = desk.draw(story.goal.key, "look_alike", n)
    others = [each for each in earlier if abs(each.goal.elapsed - story.goal.elapsed) > 3]
    if others and draw.random() < 0.6:
        seen = draw.choice(others)
        take, relation, goal = seen.takes[0], Relation.OTHER_GOAL, seen.goal.key
    else:
        take, relation, goal = desk.old, Relation.LOOK_ALIKE, None
    copy = copy_of(draw, take, usual_transform(draw))
    clip = Clip(Recipe(take, copy), relation, goal)
    subject = story.subject(draw, desk.tag)
    text = wording.write(draw, wording.AGAIN, subject)
    return desk.post(draw, _moment(draw, story, 0, 1), authors.anyone(draw, subject.team), text, (clip,))


def _unrelated(desk: Desk, story: Story, n: int) -> Post:
    draw = desk.draw(story.goal.key, "unrelated", n)
    kind = draw.choice((*ELSEWHERE, Kind.PLAY))
    take = play_take(desk.draw("play"), desk.look) if kind is Kind.PLAY else other_take(draw, kind)
    clip = Clip(Recipe(take, copy_of(draw, take, usual_transform(draw))), Relation.UNRELATED, None)
    subject = story.subject(draw, desk.tag)
    text = wording.write(draw, wording.TALK, subject)
    return desk.post(draw, _moment(draw, story, 0, 1), authors.anyone(draw, subject.team), text, (clip,))


def _promoted(desk: Desk, story: Story, n: int) -> Post:
    draw = desk.draw(story.goal.key, "promoted", n)
    take = other_take(draw, Kind.ADVERT)
    clip = Clip(Recipe(take, Copy(height=480)), Relation.UNRELATED, None)
    text = wording.write(draw, wording.ADVERTS, story.subject(draw, desk.tag))
    post = desk.post(draw, _moment(draw, story, 0, 1), authors.brand(draw), text, (clip,))
    return replace(post, is_promoted=True)


def _quote(desk: Desk, story: Story, originals: Sequence[Post], n: int) -> Post:
    draw = desk.draw(story.goal.key, "quote", n)
    quoted = draw.choice(originals)
    subject = story.subject(draw, desk.tag)
    at_ms = quoted.at_ms + draw.randrange(15_000, 4 * MINUTE)
    text = wording.write(draw, wording.QUOTING, subject)
    return replace(
        desk.post(draw, at_ms, authors.fan(draw, subject.team), text), quoted=replace(quoted, about=story.goal.key)
    )


def chatter(desk: Desk, teams: tuple[Team, Team], from_ms: int, until_ms: int, many: int) -> list[Post]:
    """About the match and no goal; one in three with a video."""
    posts = list[Post]()
    for n in range(many):
        draw = desk.draw("chatter", n)
        subject = Subject(draw.choice(teams), None, "", "", desk.tag)
        clips = ()
        if n % 3 == 0:
            take = other_take(draw, draw.choice(ELSEWHERE))
            clips = (Clip(Recipe(take, copy_of(draw, take, usual_transform(draw))), Relation.UNRELATED, None),)
        text = wording.write(draw, wording.CHATTER, subject)
        at_ms = draw.randrange(from_ms, max(until_ms, from_ms + 1))
        posts.append(desk.post(draw, at_ms, authors.fan(draw, subject.team), text, clips))
    return posts
