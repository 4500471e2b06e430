/** What is shown of a day, and in which order. Pure. */
import type { Tone } from "../library/states";
import type { MatchEvent } from "../live/socket";
import type { FootballFeed, Goal, Match, MatchDay } from "./model";

const PLAYED = new Set(["1H", "HT", "2H", "ET", "BT", "P", "SUSP", "INT", "LIVE"]);
const TO_COME = new Set(["TBD", "NS", "PST"]);
const GONE = new Set(["removed", "moved"]);

export function isLive({ status }: Pick<Match, "status">): boolean {
  return PLAYED.has(status);
}

/** Days are those of UTC, as the feed counts them. */
export function isOfDay({ kickOff }: Pick<Match, "kickOff">, day: string): boolean {
  return new Date(kickOff).toISOString().startsWith(day);
}

/** The day that was asked for; else today, else the last one before it, else the first that comes. */
export function chosenDay(days: readonly MatchDay[], asked: string, today: string): string | null {
  const known = days.map(({ day }) => day).sort();
  if (known.includes(asked)) return asked;
  if (known.includes(today)) return today;
  return known.filter((day) => day < today).at(-1) ?? known[0] ?? null;
}

const SOONEST_MS = 2000;
const LATEST_MS = 60_000;

/** When the feed may say something else than now; null: events tell what happens. */
export function readAgainAfter(
  feed: Pick<FootballFeed, "isEnabled" | "failure" | "nextTryAt"> | null,
  days: readonly MatchDay[],
  now: number,
): number | null {
  if (feed === null) return null;
  if (feed.failure === null) return feed.isEnabled && days.length === 0 ? LATEST_MS / 6 : null;
  const left = feed.nextTryAt === null ? LATEST_MS : Date.parse(feed.nextTryAt) - now + SOONEST_MS;
  return Math.min(Math.max(left, SOONEST_MS), LATEST_MS);
}

export interface Group {
  readonly title: string;
  readonly matches: readonly Match[];
}

/** What is played now comes first; then what was played, because it has something to show. */
export function groupsOf(matches: readonly Match[]): readonly Group[] {
  const ordered = [...matches].sort(compare);
  const groups = [
    { title: "Live now", matches: ordered.filter(isLive) },
    { title: "Played", matches: ordered.filter(({ status }) => !PLAYED.has(status) && !TO_COME.has(status)) },
    { title: "Upcoming", matches: ordered.filter(({ status }) => TO_COME.has(status)) },
  ];
  return groups.filter((group) => group.matches.length > 0);
}

function compare(one: Match, other: Match): number {
  if (one.kickOff !== other.kickOff) return one.kickOff < other.kickOff ? -1 : 1;
  return Number(one.id) - Number(other.id);
}

export function goalKey({ eventId, generation }: Pick<Goal, "eventId" | "generation">): string {
  return `${eventId} ${generation}`;
}

/** The goal that an event takes away, if it does. */
export function goneGoal({ eventId, generation, what }: MatchEvent): string | null {
  return eventId !== null && generation !== null && GONE.has(what) ? goalKey({ eventId, generation }) : null;
}

/** A goal that was taken away stays away, also when an answer that was on its way still has it. */
export function withoutGone(match: Match, gone: ReadonlySet<string>): Match {
  const goals = match.goals.filter((goal) => !gone.has(goalKey(goal)));
  return goals.length === match.goals.length ? match : { ...match, goals };
}

export function toneOf(goal: Pick<Goal, "state" | "videos">): Tone {
  if (goal.state === "complete") return goal.videos.length > 0 ? "good" : "bad";
  return goal.state === "seen" || goal.state === "unidentified" ? "quiet" : "busy";
}

export interface Figures {
  readonly goals: number;
  readonly covered: number;
  readonly firstVideoSeconds: readonly number[];
}

/** Of all matches of a day together. */
export function figuresOf(matches: readonly Match[]): Figures {
  const goals = matches.flatMap((match) => match.goals);
  return {
    goals: goals.length,
    covered: goals.filter(({ videos }) => videos.length > 0).length,
    firstVideoSeconds: goals
      .map(({ telemetry }) => telemetry.firstVideoSeconds)
      .filter((seconds) => seconds !== null)
      .sort((one, other) => one - other),
  };
}

/** Of the nearest rank: one of the values themselves. Null where there are none. */
export function percentile(ordered: readonly number[], percent: number): number | null {
  return ordered[Math.max(1, Math.ceil((percent * ordered.length) / 100)) - 1] ?? null;
}
