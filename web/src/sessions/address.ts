/**
 * What is asked of sessions, in the address and as the gateway takes it. Pure; the present time comes in.
 * Invariant: an address read and written again is the same question; what it says wrongly is left out.
 */
import type { SessionFilter, SessionMetric, SessionOrder, SessionProgress } from "../api/generated";
import { SESSIONS_PATH } from "../app/routes";
import {
  FILTERS,
  METRICS,
  ORDERS,
  OUTCOMES,
  SPANS,
  VIEWS,
  type FilterName,
  type Filters,
  type Metric,
  type Order,
  type Outcome,
  type Question,
  type Range,
  type Span,
} from "./model";

const HOUR_MS = 3_600_000;
export const SPAN_MS: Record<Span, number> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
  year: 365 * 24 * HOUR_MS,
};
const USUAL_SPAN = "day";
const LONGEST = 300;
const LATENCY = /^(\w+):(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/;

const OUTCOME_NAMES = {
  success: "SUCCESS",
  excused: "EXCUSED",
  unexcused: "UNEXCUSED",
  running: "RUNNING",
  cancelled: "CANCELLED",
  uncounted: "NOT_IN_DENOMINATOR",
} as const satisfies Record<Outcome, SessionProgress>;

export const METRIC_NAMES = {
  startup: "STARTUP",
  e2e: "E2E",
  playable: "PROMPT_TO_PLAYABLE",
  lag: "GATEWAY_RUNNER_LAG",
} as const satisfies Record<Metric, SessionMetric>;

export const ORDER_NAMES = {
  latest: "LATEST",
  slowest: "STARTUP_DESC",
  errors: "ERRORS_DESC",
  swaps: "SWAPS_DESC",
} as const satisfies Record<Order, SessionOrder>;

export function questionOf(query: string): Question {
  const given = new URLSearchParams(query);
  return {
    view: VIEWS.find((one) => one === given.get("view")) ?? "overview",
    range: rangeOf(given),
    filters: filtersOf((name) => given.get(name) ?? undefined),
    order: ORDERS.find((one) => one === given.get("order")) ?? "latest",
  };
}

export function sessionsPath({ view, range, filters, order }: Question): string {
  const given = new URLSearchParams();
  if (view !== "overview") given.set("view", view);
  if (range.span !== "own") {
    if (range.span !== USUAL_SPAN) given.set("range", range.span);
  } else {
    if (range.from !== null) given.set("from", new Date(range.from).toISOString());
    if (range.to !== null) given.set("to", new Date(range.to).toISOString());
  }
  for (const name of FILTERS) if (filters[name] !== undefined) given.set(name, filters[name]);
  if (order !== "latest") given.set("order", order);
  const query = given.toString();
  return query === "" ? SESSIONS_PATH : `${SESSIONS_PATH}?${query}`;
}

function rangeOf(given: URLSearchParams): Range {
  const from = momentOf(given.get("from"));
  const to = momentOf(given.get("to"));
  if (from !== null || to !== null) return ownRange(from, to);
  return { span: SPANS.find((one) => one === given.get("range")) ?? USUAL_SPAN };
}

/** Ends that were given the wrong way round are turned. */
export function ownRange(from: number | null, to: number | null): Range {
  const isTurned = from !== null && to !== null && to < from;
  return isTurned ? { span: "own", from: to, to: from } : { span: "own", from, to };
}

function momentOf(text: string | null): number | null {
  const moment = text === null ? NaN : Date.parse(text);
  return Number.isNaN(moment) ? null : moment;
}

function filtersOf(given: (name: FilterName) => string | undefined): Filters {
  const pairs = FILTERS.map((name) => [name, given(name)?.trim().slice(0, LONGEST)] as const);
  return Object.fromEntries(pairs.filter(([name, value]) => value !== undefined && isPossible(name, value)));
}

const RULES: Partial<Record<FilterName, (value: string) => boolean>> = {
  outcome: (value) => OUTCOMES.some((known) => known === value),
  swapped: isAnswer,
  failed: isAnswer,
  latency: (value) => latencyOf(value) !== null,
  find: isText,
  reason: isText,
};

function isPossible(name: FilterName, value: string): boolean {
  return RULES[name]?.(value) ?? true;
}

function isText(value: string): boolean {
  return value !== "";
}

function isAnswer(value: string): boolean {
  return value === "yes" || value === "no";
}

/** Undefined takes a filter away. */
type Changes = Readonly<Partial<Record<FilterName, string | undefined>>>;

export function withFilters(question: Question, changes: Changes): Question {
  return {
    ...question,
    filters: filtersOf((name) => (name in changes ? changes[name] : question.filters[name])),
  };
}

/** The rows that something on the page counts: what is asked already, and this. */
export function rowsOf(question: Question, changes: Changes, order?: Order): string {
  return sessionsPath({ ...withFilters(question, changes), view: "rows", order: order ?? "latest" });
}

/** A part of the range: what is outside of what was asked for is not counted there either. */
export function rangeWithin(range: Range, from: number, to: number): Range {
  if (range.span !== "own") return { span: "own", from, to };
  return { span: "own", from: Math.max(from, range.from ?? from), to: Math.min(to, range.to ?? to) };
}

/** As the gateway takes it. */
export function askedRange(range: Range, now: number): { readonly from: string | null; readonly to: string | null } {
  const { from, to } = endsOf(range, now);
  return { from: iso(from), to: iso(to) };
}

export interface Latency {
  readonly metric: Metric;
  readonly fromMs: number;
  readonly toMs: number;
}

export function latencyOf(value: string): Latency | null {
  const [, name, from, to] = LATENCY.exec(value) ?? [];
  const metric = METRICS.find((known) => known === name);
  return metric === undefined ? null : { metric, fromMs: Number(from), toMs: Number(to) };
}

export function latencyText({ metric, fromMs, toMs }: Latency): string {
  return `${metric}:${fromMs}-${toMs}`;
}

/** When it begins and ends. Null: now, or as long before the end as the gateway goes back by itself. */
export function endsOf(range: Range, now: number): { readonly from: number | null; readonly to: number | null } {
  if (range.span === "own") return range;
  return { from: now - SPAN_MS[range.span], to: null };
}

/** As the gateway takes it. */
export function filterOf({ range, filters }: Question, now: number): SessionFilter {
  const latency = latencyOf(filters.latency ?? "");
  return {
    ...askedRange(range, now),
    workflowType: filters.type ?? null,
    gateway: filters.gateway ?? null,
    orchestrator: filters.orchestrator ?? null,
    model: filters.model ?? null,
    gpu: filters.gpu ?? null,
    outcome: outcomeOf(filters.outcome),
    swapped: answerOf(filters.swapped),
    failed: answerOf(filters.failed),
    search: filters.find ?? null,
    ...(latency && { metric: METRIC_NAMES[latency.metric], atLeastMs: latency.fromMs, belowMs: latency.toMs }),
  };
}

function outcomeOf(value: string | undefined): SessionProgress | null {
  const outcome = OUTCOMES.find((known) => known === value);
  return outcome === undefined ? null : OUTCOME_NAMES[outcome];
}

function answerOf(value: string | undefined): boolean | null {
  return value === undefined ? null : value === "yes";
}

function iso(moment: number | null): string | null {
  return moment === null ? null : new Date(moment).toISOString();
}

/** The day that ends with a moment. */
export function dayUntil(moment: number): Range {
  return { span: "own", from: moment - SPAN_MS.day, to: moment + 1000 };
}

/** Those that count for what is looked at: events that could not be read have only a reason. */
export function filtersInUse({ view, filters }: Question): FilterName[] {
  return FILTERS.filter((name) => filters[name] !== undefined && (name === "reason") === (view === "intake"));
}
