/** Time in equal parts: how wide they are, and where a chart says what time it is. Pure. */
import { endsOf } from "./address";
import type { Range } from "./model";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1,
  5,
  15,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  30 * DAY,
  90 * DAY,
  365 * DAY,
];
const MOST_BARS = 60;

/** Seconds. Null: the gateway decides how long it is, and so how wide they are. */
export function bucketSeconds(range: Range, now: number): number | null {
  const { from, to } = endsOf(range, now);
  if (from === null) return null;
  const seconds = Math.max(1, ((to ?? now) - from) / 1000);
  return stepFor(seconds, MOST_BARS);
}

function stepFor(seconds: number, most: number): number {
  return STEPS.find((step) => seconds / step <= most) ?? 365 * DAY;
}

export interface Tick {
  /** 0 to 1, from the start to the end. */
  readonly at: number;
  readonly text: string;
}

const hourMinute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayMonth = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const withYear = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
const precise = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const whole = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** At round times by the clock of whoever looks, at most about `most`. */
export function timeTicks(from: number, to: number, most: number): Tick[] {
  const seconds = (to - from) / 1000;
  if (seconds <= 0) return [];
  const step = stepFor(seconds, most);
  const words = step >= 30 * DAY ? withYear : step >= DAY ? dayMonth : step >= MINUTE ? hourMinute : precise;
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const ticks: Tick[] = [];
  for (let at = Math.ceil((from - shift) / (step * 1000)) * step * 1000 + shift; at <= to; at += step * 1000)
    ticks.push({ at: (at - from) / (to - from), text: words.format(at) });
  return ticks;
}

/** `12 Nov, 14:30 – 15:00`. */
export function spanWords(from: number, seconds: number): string {
  const to = from + seconds * 1000;
  if (seconds % DAY === 0 && seconds > DAY) return `${dayMonth.format(from)} – ${dayMonth.format(to)}`;
  if (seconds === DAY) return dayMonth.format(from);
  return `${whole.format(from)} – ${(seconds < MINUTE ? precise : hourMinute).format(to)}`;
}
