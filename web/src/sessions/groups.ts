/** Groups of sessions: what they are called, how they compare, where their rows are. Pure. */
import type { SessionDimension } from "../api/generated";
import { rowsOf } from "./address";
import type { Dimension, Group, Grouping, Question } from "./model";
import { uncountedOf, type Part } from "./series";
import { formatCount, formatMs, formatShare } from "./words";

export const DIMENSION_ENUM = {
  type: "WORKFLOW_TYPE",
  gateway: "GATEWAY",
  orchestrator: "ORCHESTRATOR",
  model: "MODEL",
  gpu: "GPU",
  hour: "HOUR",
} as const satisfies Record<Grouping, SessionDimension>;

export const LEADERS = ["swaps", "failures", "slowest"] as const;
export type Leaders = (typeof LEADERS)[number];

export function groupParts(group: Group): Part[] {
  return [
    ["success", group.success],
    ["excused", group.excused],
    ["unexcused", group.unexcused],
    ["running", group.running],
    ["cancelled", group.cancelled],
    ["uncounted", uncountedOf(group)],
  ];
}

/** Where the group's rows are; null when no filter chooses them. */
export function groupPath(question: Question, grouping: Grouping, { key }: Group): string | null {
  return grouping === "hour" ? null : rowsOf(question, { [grouping]: key ?? "" });
}

export function leaderPath(question: Question, dimension: Dimension, kind: Leaders, { key }: Group): string {
  const named = { [dimension]: key ?? "" };
  switch (kind) {
    case "swaps":
      return rowsOf(question, { ...named, swapped: "yes" }, "swaps");
    case "failures":
      return rowsOf(question, { ...named, failed: "yes" }, "errors");
    case "slowest":
      return rowsOf(question, named, "slowest");
  }
}

/** By what they lead. */
export function leadOf(kind: Leaders, group: Group): number {
  switch (kind) {
    case "swaps":
      return group.swapped;
    case "failures":
      return group.unexcused;
    case "slowest":
      return group.startup.p95 ?? 0;
  }
}

export function leadWords(kind: Leaders, group: Group): { readonly figure: string; readonly note: string } {
  const { sessions, known, swapped, unexcused, startup } = group;
  switch (kind) {
    case "swaps":
      return { figure: formatCount(swapped), note: `${formatShare(swapped, sessions)} of ${formatCount(sessions)}` };
    case "failures":
      return { figure: formatCount(unexcused), note: `${formatShare(unexcused, known)} of ${formatCount(known)}` };
    case "slowest":
      return { figure: formatMs(startup.p95), note: `median ${formatMs(startup.p50)}` };
  }
}

/** Only those that have anything to lead by. */
export function leadersOf(kind: Leaders, groups: readonly Group[]): Group[] {
  return groups.filter((group) => leadOf(kind, group) > 0);
}
