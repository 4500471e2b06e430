/** Which of several charts somebody looks at. It is kept while they look at other pages, and is no part of an address. */
import { signal } from "@preact/signals";
import type { Dimension, Grouping, Metric } from "./model";

export const shownMetric = signal<Metric>("startup");
export const shownGrouping = signal<Grouping>("orchestrator");
export const shownLeaders = signal<Dimension>("orchestrator");
