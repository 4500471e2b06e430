/** What came in and what became of it. Pure. */
import { plural } from "../kernel/format";
import { rangeWithin, sessionsPath } from "./address";
import { spanWords } from "./buckets";
import type { LegendEntry } from "./Legend";
import type { Intake, Question } from "./model";
import { startOf, type Part } from "./series";
import { formatCount } from "./words";

export type IntakeBucket = Intake["series"][number];
type Counted = Omit<IntakeBucket, "start" | "seconds">;

export const BECAME = ["accepted", "duplicate", "ignored", "quarantined"] as const;
export type Became = (typeof BECAME)[number];

export const BECAME_NAMES: Record<Became, string> = {
  accepted: "Accepted",
  duplicate: "Duplicate",
  ignored: "Ignored",
  quarantined: "Quarantined",
};
export const BECAME_MEANINGS: Record<Became, string> = {
  accepted: "accepted and counted",
  duplicate: "delivered again",
  ignored: "of an unknown type",
  quarantined: "could not be read",
};

const TINTS = { accepted: "success", duplicate: "second", ignored: "uncounted", quarantined: "unexcused" } as const;

export function intakeParts(counted: Counted): Part[] {
  return BECAME.map((name) => [TINTS[name], counted[name]]);
}

export function intakeLegend(counted: Counted): LegendEntry[] {
  return BECAME.map((name) => ({ tint: TINTS[name], name: BECAME_NAMES[name], value: formatCount(counted[name]) }));
}

/** Events have no rows here: a bucket leads to itself, in smaller parts. */
export function intakePath(question: Question, bucket: IntakeBucket): string | null {
  if (bucket.raw === 0) return null;
  const start = startOf(bucket);
  return sessionsPath({ ...question, range: rangeWithin(question.range, start, start + bucket.seconds * 1000) });
}

export function intakeWords(bucket: IntakeBucket): string {
  const entries = intakeLegend(bucket).map(({ name, value }) => `${name.toLowerCase()} ${value}`);
  return `${spanWords(startOf(bucket), bucket.seconds)}: ${plural(bucket.raw, "event")}, ${entries.join(", ")}`;
}
