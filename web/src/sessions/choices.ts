/** Which of several charts somebody looks at. It is kept while they look at other pages, and is no part of an address. */
import { signal } from "@preact/signals";
import type { Dimension, Group, Grouping, Metric } from "./model";

export const shownMetric = signal<Metric>("startup");
export const shownGrouping = signal<Grouping>("orchestrator");
/** Whether a person chose it, and the leaders. Until then the first grouping that tells sessions apart is shown. */
export const wasGroupingChosen = signal(false);
export const wereLeadersChosen = signal(false);
export const shownLeaders = signal<Dimension>("orchestrator");

const TRIED: readonly Grouping[] = ["orchestrator", "model", "type"];

/** The same one when it has more than one known value, or when a person chose it; else the next one to try. */
export function groupingFor(shown: Grouping, groups: readonly Pick<Group, "key">[], wasChosen: boolean): Grouping {
  const told = groups.filter(({ key }) => key !== null && key !== "").length;
  if (wasChosen || told > 1 || groups.length === 0) return shown;
  return TRIED[TRIED.indexOf(shown) + 1] ?? shown;
}

/** Workflows lead where no orchestrator is known. */
export function leadersFor(shown: Dimension, groups: readonly Pick<Group, "key">[], wereChosen: boolean): Dimension {
  if (wereChosen || groups.length === 0 || groups.some(({ key }) => key !== null && key !== "")) return shown;
  return "type";
}
