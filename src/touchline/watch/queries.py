"""Matches, goals and videos for the gateway: reads only, inside the caller's tenant.

Invariant: a goal comes with its videos in one statement, so nobody sees half a removal. A goal that was taken away does
not exist; one whose scorer the feed changed is found under its old id, too.
"""

# ruff: noqa: S608  what is put into the statements is one of the constants below

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, LiteralString

from psycopg.rows import class_row, dict_row, scalar_row

from touchline.platform.postgres.database import Transaction
from touchline.watch.views.rules import Goal, GoalDocument, GoalKey, Match, MatchDay, Video, group_of, is_named

PLAYED: LiteralString = "('1H', 'HT', '2H', 'ET', 'BT', 'P', 'SUSP', 'INT', 'LIVE')"
_TENANT: LiteralString = "tenant_id = (SELECT platform.current_tenant())"
_MATCH: LiteralString = """f.id, f.stage, f.status, f.elapsed, f.kick_off, f.league_id, f.league_name, f.home_id,
  f.home_name, f.away_id, f.away_name, f.home_goals, f.away_goals, f.last_monitor, f.completed_at, f.failure,
  f.revision"""
DAYS: LiteralString = f"""
SELECT (f.kick_off AT TIME ZONE 'UTC')::date AS day, count(*)::int AS matches,
       (count(*) FILTER (WHERE f.stage = 'active' AND f.status IN {PLAYED}))::int AS live,
       coalesce(sum(g.goals), 0)::int AS goals, coalesce(sum(g.covered), 0)::int AS covered
  FROM watch.fixtures AS f
 CROSS JOIN LATERAL (
   SELECT count(*) AS goals, count(*) FILTER (WHERE EXISTS (
            SELECT 1 FROM watch.videos AS v
             WHERE v.tenant_id = g.tenant_id AND v.event_id = g.event_id AND v.generation = g.generation
               AND v.state = 'kept')) AS covered
     FROM watch.goals AS g
    WHERE g.tenant_id = f.tenant_id AND g.fixture_id = f.id AND g.removed_at IS NULL) AS g
 WHERE f.{_TENANT}
 GROUP BY 1
 ORDER BY 1 DESC
 LIMIT %(most)s
"""
_OF_DAY: LiteralString = f"""f.{_TENANT}
   AND f.kick_off >= %(day)s::date::timestamp AT TIME ZONE 'UTC'
   AND f.kick_off < (%(day)s::date + 1)::timestamp AT TIME ZONE 'UTC'"""
COUNT_OF_DAY: LiteralString = f"SELECT count(*) FROM watch.fixtures AS f WHERE {_OF_DAY}"
_BETWEEN: LiteralString = """
   AND (%(after_id)s::bigint IS NULL OR (f.kick_off, f.id) > (%(after_at)s::timestamptz, %(after_id)s::bigint))
   AND (%(before_id)s::bigint IS NULL OR (f.kick_off, f.id) < (%(before_at)s::timestamptz, %(before_id)s::bigint))"""
FIRST_OF_DAY: LiteralString = f"""
SELECT {_MATCH} FROM watch.fixtures AS f WHERE {_OF_DAY} {_BETWEEN} ORDER BY f.kick_off, f.id LIMIT %(limit)s
"""
LAST_OF_DAY: LiteralString = f"""
SELECT {_MATCH} FROM watch.fixtures AS f WHERE {_OF_DAY} {_BETWEEN} ORDER BY f.kick_off DESC, f.id DESC LIMIT %(limit)s
"""
MATCHES: LiteralString = (
    f"SELECT {_MATCH} FROM watch.fixtures AS f WHERE f.{_TENANT} AND f.id = ANY (%(ids)s::bigint[])"
)

_GOAL: LiteralString = """
SELECT g.event_id, g.generation, g.fixture_id, g.team_id, g.team_name, g.player_id, g.player_name, g.type, g.detail,
       g.minute, g.extra, g.home_score, g.away_score, g.first_seen, cardinality(g.monitor_workflows) AS seen,
       g.stable_at, g.monitor_complete, g.twitter_attempt, g.searched_at, g.search_failure,
       cardinality(g.download_workflows) AS attempts_ended, g.download_complete, g.completed_at, g.outcome,
       g.first_archived_at, b.batches_waiting, f.downloaded, f.validated, f.archived, g.revision, f.found, v.videos
  FROM watch.goals AS g
 CROSS JOIN LATERAL (
   SELECT count(*)::int AS batches_waiting FROM watch.upload_batches AS b
    WHERE b.tenant_id = g.tenant_id AND b.event_id = g.event_id AND b.generation = g.generation
      AND b.archived_at IS NULL) AS b
 CROSS JOIN LATERAL (
   SELECT coalesce(sum(c.downloaded), 0)::int AS downloaded, coalesce(sum(c.validated), 0)::int AS validated,
          coalesce(sum(c.archived), 0)::int AS archived,
          coalesce(jsonb_agg(jsonb_build_array(c.state, c.code, c.waits, c.count) ORDER BY c.state, c.code), '[]')
            AS found
     FROM (SELECT w.state, split_part(w.why, ':', 1) AS code, w.state = 'downloaded' AND w.verified IS NULL AS waits,
                  count(*)::int AS count, count(w.md5) AS downloaded, count(w.validated_at) AS validated,
                  count(w.artifact_hash) AS archived
             FROM watch.found AS w
            WHERE w.tenant_id = g.tenant_id AND w.event_id = g.event_id AND w.generation = g.generation
            GROUP BY 1, 2, 3) AS c) AS f
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'artifact_hash', w.artifact_hash, 'rank', w.rank, 'verified', w.verified, 'clock', w.clock,
            'popularity', w.popularity, 'source_url', w.source_url, 'archived_at', w.archived_at,
            'size_bytes', w.size_bytes, 'duration_ms', w.duration_ms, 'width', w.width, 'height', w.height,
            'revision', w.revision) ORDER BY w.rank), '[]') AS videos
     FROM watch.videos AS w
    WHERE w.tenant_id = g.tenant_id AND w.event_id = g.event_id AND w.generation = g.generation
      AND w.state = 'kept') AS v
"""
GOALS_OF_MATCHES: LiteralString = f"""{_GOAL}
 WHERE g.{_TENANT} AND g.fixture_id = ANY (%(ids)s::bigint[]) AND g.removed_at IS NULL
 ORDER BY g.minute, coalesce(g.extra, 0), g.home_score + g.away_score, g.event_id
"""
GOAL: LiteralString = f"""{_GOAL}
 WHERE g.{_TENANT} AND g.event_id = %(event_id)s AND g.generation = %(generation)s AND g.removed_at IS NULL
"""
GOALS_SINCE: LiteralString = f"""{_GOAL}
 WHERE g.first_seen >= %(since)s AND g.removed_at IS NULL
 ORDER BY g.first_seen DESC
 LIMIT %(most)s
"""
LIVING: LiteralString = f"""
-- The goal that has the id now; else the one that took over the videos of the last that had it.
SELECT living.event_id, living.generation
  FROM (SELECT g.event_id, g.generation FROM watch.goals AS g
         WHERE g.{_TENANT} AND g.event_id = %(event_id)s
         ORDER BY (g.removed_at IS NULL) DESC, g.generation DESC LIMIT 1) AS named
 CROSS JOIN LATERAL watch.living_goal(named.event_id, named.generation) AS living
"""
LISTS: LiteralString = f"""
SELECT raw, monitor_workflows, twitter_aliases, download_started, download_workflows FROM watch.goals
 WHERE {_TENANT} AND event_id = %(event_id)s AND generation = %(generation)s AND removed_at IS NULL
"""
DISCOVERED: LiteralString = f"""
SELECT url, post_id, video_index, author, post_text AS text, posted_at, duration_s AS duration, found_at,
       found_by AS query, attempt, state, why, tries, verified, artifact_hash
  FROM watch.found
 WHERE {_TENANT} AND event_id = %(event_id)s AND generation = %(generation)s
 ORDER BY found_at, post_id, video_index
 LIMIT %(most)s
"""
SURVIVING: LiteralString = """
-- The kept video that a replaced one became; nothing when its goal was taken away.
WITH RECURSIVE way AS (
  SELECT v.artifact_hash, v.state, v.replaced_by, 1 AS steps FROM watch.videos AS v
   WHERE v.tenant_id = (SELECT platform.current_tenant()) AND v.artifact_hash = %(hash)s
   UNION ALL
  SELECT v.artifact_hash, v.state, v.replaced_by, way.steps + 1
    FROM way JOIN watch.videos AS v
      ON v.tenant_id = (SELECT platform.current_tenant()) AND v.artifact_hash = way.replaced_by
   WHERE way.steps < 100
)
SELECT artifact_hash FROM way WHERE state = 'kept'
"""
NAMES: LiteralString = f"""
-- What each match can be found by, newest first.
SELECT f.id, concat_ws(' ', f.home_name, f.away_name, f.league_name,
         (SELECT string_agg(g.player_name, ' ') FROM watch.goals AS g
           WHERE g.tenant_id = f.tenant_id AND g.fixture_id = f.id AND g.removed_at IS NULL)) AS names
  FROM watch.fixtures AS f
 WHERE f.{_TENANT}
 ORDER BY f.kick_off DESC, f.id DESC
 LIMIT %(most)s
"""
MOST_SEARCHED = 10_000  # matches, the newest
MOST_DAYS = 60
MOST_DISCOVERED = 1000
MOST_OBSERVED = 20_000


@dataclass(frozen=True, slots=True)
class MatchPlace:
    kick_off: datetime
    id: int


@dataclass(frozen=True, slots=True)
class MatchWindow:
    """The matches of a day strictly between two: the first of them, or the last."""

    size: int
    after: MatchPlace | None = None
    before: MatchPlace | None = None
    from_the_end: bool = False


@dataclass(frozen=True, slots=True)
class MatchPage:
    matches: Sequence[Match]
    more: bool  # in the direction of reading
    total_count: int


async def match_days(transaction: Transaction) -> Sequence[MatchDay]:
    """Newest first."""
    async with transaction.connection.cursor(row_factory=class_row(MatchDay)) as cursor:
        return await (await cursor.execute(DAYS, {"most": MOST_DAYS})).fetchall()


async def matches_of_day(transaction: Transaction, day: date, window: MatchWindow) -> MatchPage:
    """By kick-off."""
    after, before = window.after, window.before
    values: dict[str, Any] = {
        "day": day,
        "limit": window.size + 1,
        "after_at": after and after.kick_off,
        "after_id": after and after.id,
        "before_at": before and before.kick_off,
        "before_id": before and before.id,
    }
    statement = LAST_OF_DAY if window.from_the_end else FIRST_OF_DAY
    async with transaction.connection.cursor(row_factory=class_row(Match)) as cursor:
        found = await (await cursor.execute(statement, values)).fetchall()
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        [total] = await (await cursor.execute(COUNT_OF_DAY, {"day": day})).fetchall()
    page = found[: window.size]
    return MatchPage(page[::-1] if window.from_the_end else page, len(found) > window.size, total)


async def matches(transaction: Transaction, ids: Sequence[int]) -> Mapping[int, Match]:
    async with transaction.connection.cursor(row_factory=class_row(Match)) as cursor:
        found = await (await cursor.execute(MATCHES, {"ids": list(ids)})).fetchall()
    return {match.id: match for match in found}


async def matches_named(transaction: Transaction, query: str, most: int) -> Sequence[Match]:
    """Whose teams, competition or scorers have all the words, or words that begin so. Newest first."""
    async with transaction.connection.cursor() as cursor:
        rows = await (await cursor.execute(NAMES, {"most": MOST_SEARCHED})).fetchall()
    ids = [match_id for match_id, names in rows if is_named(query, names)][:most]
    found = await matches(transaction, ids)
    return [found[each] for each in ids if each in found]


async def goals_of_matches(transaction: Transaction, ids: Sequence[int]) -> Mapping[int, Sequence[Goal]]:
    """By match, in the order of play; one statement however many matches."""
    found: dict[int, list[Goal]] = defaultdict(list)
    async with transaction.connection.cursor(row_factory=dict_row) as cursor:
        for row in await (await cursor.execute(GOALS_OF_MATCHES, {"ids": list(ids)})).fetchall():
            found[row["fixture_id"]].append(goal_of(row))
    return found


async def goals_since(transaction: Transaction, since: datetime) -> Sequence[Goal]:
    """Of whatever tenants the transaction sees."""
    async with transaction.connection.cursor(row_factory=dict_row) as cursor:
        rows = await cursor.execute(GOALS_SINCE, {"since": since, "most": MOST_OBSERVED})
        return [goal_of(row) for row in await rows.fetchall()]


async def living_goal(transaction: Transaction, event_id: str) -> GoalKey | None:
    rows = await transaction.connection.execute(LIVING, {"event_id": event_id})
    row = await rows.fetchone()
    return GoalKey(*row) if row else None


async def find_goal(transaction: Transaction, event_id: str) -> Goal | None:
    """Under this id, or under the one that it has become."""
    key = await living_goal(transaction, event_id)
    if key is None:
        return None
    async with transaction.connection.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(GOAL, key._asdict())).fetchone()
    return goal_of(row) if row else None


async def goal_document(transaction: Transaction, key: GoalKey) -> GoalDocument | None:
    async with transaction.connection.cursor(row_factory=dict_row) as cursor:
        lists = await (await cursor.execute(LISTS, key._asdict())).fetchone()
        discovered = await (await cursor.execute(DISCOVERED, {**key._asdict(), "most": MOST_DISCOVERED})).fetchall()
    return GoalDocument(lists.pop("raw"), lists, tuple(discovered)) if lists else None


async def surviving_video(transaction: Transaction, artifact_hash: str) -> str | None:
    """Itself, or the better copy that took its place."""
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(SURVIVING, {"hash": artifact_hash})).fetchone()


def goal_of(row: dict[str, Any]) -> Goal:
    found = tuple(group_of(*group) for group in row.pop("found"))
    videos = tuple(_video(one) for one in row.pop("videos"))
    return Goal(**row, found=found, videos=videos)


def _video(document: dict[str, Any]) -> Video:
    document["archived_at"] = datetime.fromisoformat(document["archived_at"])
    return Video(**document)
