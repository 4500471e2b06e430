/** Buckets of time as charts: what is in them, how high they are, where their rows are. Pure. */
import { plural } from "../kernel/format";
import { rangeWithin, rowsOf } from "./address";
import { spanWords } from "./buckets";
import type { LegendEntry, Tint } from "./Legend";
import type { Bucket, Order, Outcome, Question, Summary } from "./model";
import { formatCount, formatMs, formatShare, OUTCOME_WORDS } from "./words";

export type Part = readonly [tint: Tint, count: number];

export function startOf({ start }: { readonly start: string }): number {
  return Date.parse(start);
}

export function partsOf(bucket: Omit<Bucket, "startupP50" | "startupP95" | "start" | "seconds">): Part[] {
  return [
    ["success", bucket.success],
    ["excused", bucket.excused],
    ["unexcused", bucket.unexcused],
    ["running", bucket.running],
    ["cancelled", bucket.cancelled],
    ["uncounted", bucket.notInDenominator],
  ];
}

/** The rows of one bucket. */
export function bucketPath(question: Question, bucket: Bucket, order?: Order): string | null {
  if (bucket.sessions === 0) return null;
  const start = startOf(bucket);
  const range = rangeWithin(question.range, start, start + bucket.seconds * 1000);
  return rowsOf({ ...question, range }, {}, order);
}

const ALWAYS_NAMED = new Set<Tint>(["success", "excused", "unexcused"]);

export function outcomeLegend(parts: readonly Part[]): LegendEntry[] {
  return parts
    .filter(([tint, count]) => count > 0 || ALWAYS_NAMED.has(tint))
    .map(([tint, count]) => ({ tint, name: OUTCOME_WORDS[tint as Outcome], value: formatCount(count) }));
}

export function latencyLegend(p50: number | null, p95: number | null): LegendEntry[] {
  return [
    { tint: "first", name: "Median", value: formatMs(p50) },
    { tint: "second", name: "95% within", value: formatMs(p95) },
  ];
}

export function outcomeWords(bucket: Bucket): string {
  const entries = outcomeLegend(partsOf(bucket)).map(({ name, value }) => `${name.toLowerCase()} ${value}`);
  return `${spanWords(startOf(bucket), bucket.seconds)}: ${plural(bucket.sessions, "session")}, ${entries.join(", ")}`;
}

export function latencyWords(bucket: Bucket): string {
  const { startupP50, startupP95 } = bucket;
  return `${spanWords(startOf(bucket), bucket.seconds)}: median startup ${formatMs(startupP50)}, 95% within ${formatMs(startupP95)}`;
}

/** Sessions whose start does not count: nobody saw it requested. */
export function uncountedOf({
  sessions,
  known,
  running,
  cancelled,
}: Pick<Summary, "sessions" | "known" | "running" | "cancelled">): number {
  return Math.max(0, sessions - known - running - cancelled);
}

export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly to: string;
}

/** What the page says first. Rates are of the sessions whose start counts; swaps are of all. */
export function figuresOf(summary: Summary, question: Question): Figure[] {
  const { sessions, known, success, excused, unexcused, swapped, startup } = summary;
  const rate = (name: string, part: number, outcome: string) => ({
    name,
    value: formatShare(part, known),
    note: `${formatCount(part)} of ${formatCount(known)}`,
    to: rowsOf(question, { outcome }),
  });
  return [
    { name: "Sessions", value: formatCount(sessions), note: uncounted(summary), to: rowsOf(question, {}) },
    rate("Success", success, "success"),
    rate("Excused", excused, "excused"),
    rate("Unexcused", unexcused, "unexcused"),
    {
      name: "Swapped",
      value: formatShare(swapped, sessions),
      note: `${formatCount(swapped)} of ${formatCount(sessions)}`,
      to: rowsOf(question, { swapped: "yes" }),
    },
    {
      name: "Median startup",
      value: formatMs(startup.p50),
      note: `of ${formatCount(startup.count)} starts`,
      to: rowsOf(question, {}, "slowest"),
    },
    {
      name: "95% started within",
      value: formatMs(startup.p95),
      note: `99% within ${formatMs(startup.p99)}`,
      to: rowsOf(question, {}, "slowest"),
    },
  ];
}

function uncounted(summary: Summary): string {
  const beside: [number, string][] = [
    [summary.running, "running"],
    [summary.cancelled, "cancelled"],
    [uncountedOf(summary), "not counted"],
  ];
  const said = beside.filter(([count]) => count > 0).map(([count, what]) => `${formatCount(count)} ${what}`);
  return said.length === 0 ? "all with an outcome" : said.join(", ");
}
