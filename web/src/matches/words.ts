/** Matches and goals in words. A status that is newer than this page shows as it is. Pure. */
import { stateView } from "../library/states";
import { formatSpan, percentOf, plural } from "../kernel/format";
import type { FootballFeed, Goal, GoalVideo, Match, MatchDay } from "./model";
import { percentile, type Figures } from "./rules";

const STATUS = new Map<string, string>([
  ["TBD", "Time not set"],
  ["HT", "Half-time"],
  ["BT", "Break"],
  ["P", "Penalties"],
  ["SUSP", "Suspended"],
  ["INT", "Interrupted"],
  ["LIVE", "Live"],
  ["PST", "Postponed"],
  ["FT", "Full time"],
  ["AET", "After extra time"],
  ["PEN", "After penalties"],
  ["CANC", "Cancelled"],
  ["ABD", "Abandoned"],
  ["AWD", "Awarded"],
  ["WO", "Walkover"],
]);
const RUNNING = new Set(["1H", "2H", "ET"]);
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const exactTime = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const date = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
const DAY_MS = 24 * 3600 * 1000;

/** `67′`, `Half-time`, `20:45`. */
export function statusWords({ status, elapsed, kickOff }: Pick<Match, "status" | "elapsed" | "kickOff">): string {
  if (RUNNING.has(status)) return elapsed === null ? "Live" : `${elapsed}′`;
  return status === "NS" ? time.format(new Date(kickOff)) : (STATUS.get(status) ?? status);
}

/** `45+2′`. */
export function minuteWords({ minute, extraMinute }: Pick<Goal, "minute" | "extraMinute">): string {
  return extraMinute === null ? `${minute}′` : `${minute}+${extraMinute}′`;
}

export function scorerWords({ playerName }: Pick<Goal, "playerName">): string {
  return playerName ?? "Scorer unknown";
}

/** For those who listen: `23′ B. Saka, Arsenal, 1 to 0`. */
export function goalName(goal: Goal): string {
  return `${minuteWords(goal)} ${scorerWords(goal)}, ${goal.teamName}, ${goal.homeScore} to ${goal.awayScore}`;
}

export function todayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** Days are those of UTC, as the feed counts them. */
export function dayWords(day: string, now: number): string {
  const days = Math.round((Date.parse(day) - Date.parse(todayOf(now))) / DAY_MS);
  if (days === 0) return "Today";
  if (days === -1) return "Yesterday";
  if (days === 1) return "Tomorrow";
  return date.format(new Date(day));
}

export function dayFacts({ matches, live }: Pick<MatchDay, "matches" | "live">): string {
  return live > 0 ? `${live} live` : `${matches} ${matches === 1 ? "match" : "matches"}`;
}

/** `12 goals · 11 with a video (91%) · first video within 48 s for half of the goals, within 2 min for 95%`. */
export function figureWords({ goals, covered, firstVideoSeconds }: Figures): string {
  if (goals === 0) return "No goals yet";
  const words = [plural(goals, "goal"), `${covered} with a video (${percentOf(covered, goals)}%)`];
  const half = percentile(firstVideoSeconds, 50);
  const most = percentile(firstVideoSeconds, 95);
  if (half !== null && most !== null) words.push(firstVideoWords(half, most));
  return words.join(" · ");
}

/** The half of the goals had theirs within the first time, 95 of 100 within the second. */
function firstVideoWords(half: number, most: number): string {
  if (formatSpan(half) === formatSpan(most)) return `first video within ${formatSpan(most)}`;
  return `first video within ${formatSpan(half)} for half of the goals, within ${formatSpan(most)} for 95%`;
}

/** What is worth saying of a match as a whole. */
export function matchFacts({ telemetry }: Pick<Match, "telemetry">): readonly string[] {
  const { goals, covered, firstVideoP50Seconds: half, firstVideoP95Seconds: most, topFailure } = telemetry;
  if (goals === 0) return [];
  const words = [`${covered} of ${plural(goals, "goal")} with a video`];
  if (half !== null && most !== null) words.push(firstVideoWords(half, most));
  if (topFailure !== null && covered < goals) words.push(`most common reason: ${topFailure.words}`);
  return words;
}

/** How the search for a goal went: `attempt 4, 7 found, 3 kept`. */
export function searchFacts({ telemetry, videos }: Pick<Goal, "telemetry" | "videos">): readonly string[] {
  const { attempts, found, firstVideoSeconds } = telemetry;
  const words: string[] = [];
  if (attempts > 0) words.push(`${attempts} ${attempts === 1 ? "search" : "searches"}`);
  if (found > 0) words.push(`${found} found`);
  if (found > 0 && videos.length > 0) words.push(`${videos.length} kept`);
  if (firstVideoSeconds !== null) words.push(`first after ${formatSpan(firstVideoSeconds)}`);
  return words;
}

/** What the list says of a video: `1280 × 720`, whether its clock is right, how often it was found. */
export function videoFacts({ width, height, popularity, clock, verified }: GoalVideo): readonly string[] {
  const words = [`${width} × ${height}`];
  if (popularity > 1) words.push(`found ${popularity} times`);
  if (clock !== null) words.push(`clock ${clock}`);
  if (!verified) words.push("minute not verified");
  return words;
}

export function dateWords(at: string): string {
  return date.format(new Date(at));
}

export function namedWords(count: number, words: string): string {
  const found = count === 0 ? "No match" : `${count} ${count === 1 ? "match" : "matches"}`;
  return `${found} for “${words}”`;
}

export function timeWords(at: string): string {
  return exactTime.format(new Date(at));
}

/** `The football feed cannot be reached`. */
export function failureTitle({ failure }: Pick<FootballFeed, "failure">): string {
  return failure === null ? "" : failure.charAt(0).toUpperCase() + failure.slice(1);
}

/** `Next try at 14:05:10. Reason: HTTP 503.` */
export function failureWords({ why, hint, nextTryAt }: Pick<FootballFeed, "why" | "hint" | "nextTryAt">): string {
  const words = nextTryAt === null ? [] : [`Next try at ${timeWords(nextTryAt)}.`];
  if (why !== null) words.push(`Reason: ${why.replace(/\.$/, "")}.`);
  if (hint !== null) words.push(hint);
  return words.join(" ");
}

/** How far a video is that cannot be played yet. Of one that is just arriving or going nothing is known for a moment. */
export function goalVideoWords(artifact: GoalVideo["vod"]): string {
  if ((artifact?.status ?? null) === null || artifact === null) return "Processing";
  const { label, progress } = stateView(artifact, null);
  const percent = progress?.percent ?? null;
  return percent === null ? label : `${label} ${percent}%`;
}

/** What comes from outside is a link only if it leads to a page. */
export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}
