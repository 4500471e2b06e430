/** Sessions in words and figures. Pure. */
import type { SessionProgress } from "../api/generated";
import { typeWords as jobWords } from "../jobs/words";
import { plural } from "../kernel/format";
import type { StateView } from "../library/states";
import { latencyOf } from "./address";
import type {
  Dimension,
  FilterName,
  Grouping,
  Metric,
  Order,
  Outcome,
  Percentiles,
  Session,
  Span,
  Summary,
  View,
} from "./model";

export const VIEW_NAMES: Record<View, string> = { overview: "Overview", rows: "Sessions", intake: "Ingest" };
export const SPAN_NAMES: Record<Span, string> = {
  hour: "Hour",
  day: "Day",
  week: "Week",
  month: "Month",
  year: "Year",
};
export const DIMENSION_NAMES: Record<Dimension, string> = {
  type: "Workflow",
  gateway: "Gateway",
  orchestrator: "Orchestrator",
  model: "Model",
  gpu: "GPU",
};
export const GROUPING_NAMES: Record<Grouping, string> = { ...DIMENSION_NAMES, hour: "Hour of day" };
export const METRIC_LABELS: Record<Metric, string> = {
  startup: "Startup",
  e2e: "End to end",
  playable: "Prompt to playable",
  lag: "Gateway to runner",
};
export const METRIC_MEANINGS: Record<Metric, string> = {
  startup: "From the request to the first processed segment at the gateway",
  e2e: "From the first segment sent to the first segment processed by the runner",
  playable: "From the prompt until enough segments are processed to play",
  lag: "Startup without the runner's part",
};
/** How many sessions a percentile speaks of. */
export const SHARES = { p50: "50%", p90: "90%", p95: "95%", p99: "99%" } as const;
export const ORDER_NAMES: Record<Order, string> = {
  latest: "Latest first",
  slowest: "Slowest start first",
  errors: "Most errors first",
  swaps: "Most swaps first",
};
export const OUTCOME_WORDS: Record<Outcome, string> = {
  success: "Success",
  excused: "Excused",
  unexcused: "Unexcused",
  running: "Running",
  cancelled: "Cancelled",
  uncounted: "Not counted",
};
export const FILTER_LABELS: Record<FilterName, string> = {
  ...DIMENSION_NAMES,
  outcome: "Outcome",
  swapped: "Swapped",
  failed: "Failed",
  latency: "Latency",
  find: "Id",
  reason: "Reason",
};

const TYPES = new Map([
  ["ai_live_video_stream", "Live video"],
  ["transcode", "Transcode"],
  ["batch", "Batch"],
  ["inference", "Inference"],
  ["transform", "Transform"],
  ["live", "Live stream"],
]);
const OUTCOMES: Record<SessionProgress, StateView> = {
  SUCCESS: { label: "Success", tone: "good", progress: null },
  EXCUSED: { label: "Excused", tone: "busy", progress: null },
  UNEXCUSED: { label: "Unexcused", tone: "bad", progress: null },
  NOT_IN_DENOMINATOR: { label: "Not counted", tone: "quiet", progress: null },
  RUNNING: { label: "Running", tone: "busy", progress: null },
  CANCELLED: { label: "Cancelled", tone: "quiet", progress: null },
};
const ADDRESS = /^0x[0-9a-f]{16,}$/i;
const NOT_KNOWN = "Unknown";

export function outcomeState(outcome: SessionProgress): StateView {
  return OUTCOMES[outcome];
}

/** `105 ms`, `2,655 ms`, `12.3 s`, `20 s`, `3:20 min`. */
export function formatMs(milliseconds: number | null): string {
  if (milliseconds === null) return "–";
  if (milliseconds < 10_000) return `${Math.round(milliseconds).toLocaleString("en")} ms`;
  if (milliseconds < 100_000) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
}

/** `98.2%`: what is not all is not said to be all, and what is not nothing is not said to be nothing. */
export function formatShare(part: number, all: number): string {
  if (all <= 0) return "–";
  const percent = (part / all) * 100;
  if (part === 0 || part === all) return `${percent}%`;
  if (percent < 0.1) return "< 0.1%";
  return percent > 99.9 ? "> 99.9%" : `${percent.toFixed(1)}%`;
}

export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** `29.97`, `30`. */
export function formatFigure(value: number | null, unit: string): string {
  return value === null ? "–" : `${Number(value.toFixed(value < 100 ? 1 : 0)).toLocaleString("en")} ${unit}`;
}

export function typeWords(workflowType: string): string {
  return TYPES.get(workflowType) ?? workflowType;
}

/** What a group is called. Null and blank: no event has said it. */
export function keyWords(grouping: Grouping, key: string | null): string {
  if (key === null || key === "") return NOT_KNOWN;
  if (grouping === "type") return typeWords(key);
  if (grouping === "hour") return `${key}:00 UTC`;
  return shortAddress(key);
}

/** `0x52cf29…597d5954`: both ends are enough to know it again. */
export function shortAddress(text: string): string {
  return ADDRESS.test(text) ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
}

const FILTER_WORDS: Partial<Record<FilterName, (value: string) => string>> = {
  swapped: (value) => (value === "yes" ? "Swapped" : "Not swapped"),
  failed: (value) => (value === "yes" ? "Failed" : "Not failed"),
  outcome: (value) => `${FILTER_LABELS.outcome}: ${OUTCOME_WORDS[value as Outcome]}`,
  latency: latencyWords,
  find: (value) => `${FILTER_LABELS.find}: ${value}`,
  reason: (value) => `${FILTER_LABELS.reason}: ${reasonWords(value)}`,
};

export function filterText(name: FilterName, value: string): string {
  return FILTER_WORDS[name]?.(value) ?? `${FILTER_LABELS[name]}: ${keyWords(name as Dimension, value)}`;
}

function latencyWords(value: string): string {
  const latency = latencyOf(value);
  return latency === null
    ? value
    : `${METRIC_LABELS[latency.metric]}: ${formatMs(latency.fromMs)} – ${formatMs(latency.toMs)}`;
}

export function metricOf(summary: Summary, metric: Metric): Percentiles {
  switch (metric) {
    case "startup":
      return summary.startup;
    case "e2e":
      return summary.e2e;
    case "playable":
      return summary.promptToPlayable;
    case "lag":
      return summary.gatewayRunnerLag;
  }
}

type NamedSession = Pick<Session, "id" | "gateway" | "video" | "goalTitle" | "stream" | "workflowId">;

/** The gateway of Touchline's own sessions. */
const OWN = "touchline";
const PUBLISHING = "publish";
const GOAL_WORK = new Map([
  ["goal_search", "Goal search"],
  ["validation", "Video check"],
]);

/**
 * `Final · Convert` for our own work on a video, `Arsenal 1-0 Chelsea, B. Saka 3' · Goal search` for that on a goal; else
 * `stream-1 · request-2`: an id is several names with a bar between them, and a word where one is missing.
 */
export function sessionName(session: NamedSession): string {
  if (session.gateway === OWN && session.workflowId !== null) return ownName(session, session.workflowId);
  const names = session.id.split("|").filter((name) => name !== "" && !name.startsWith("_missing_"));
  return names.length > 0 ? names.join(" · ") : session.id;
}

function ownName({ video, goalTitle, stream }: NamedSession, work: string): string {
  if (work === PUBLISHING) return `${stream?.title ?? "Deleted stream"} · Live`;
  const ofGoal = GOAL_WORK.get(work);
  if (ofGoal !== undefined) return `${goalTitle ?? "Removed goal"} · ${ofGoal}`;
  const subject = video === null ? "Deleted video" : video.title || "Untitled video";
  return `${subject} · ${work === "upload" ? "Upload" : jobWords(work)}`;
}

const EDGES = new Map([
  ["gateway_receive_stream_request", "Stream requested"],
  ["gateway_send_first_ingest_segment", "First segment sent in"],
  ["gateway_receive_first_processed_segment", "First processed segment back"],
  ["gateway_receive_few_processed_segments", "Playable"],
  ["gateway_ingest_stream_closed", "Stream closed"],
  ["gateway_no_orchestrators_available", "No orchestrator available"],
  ["runner_receive_first_ingest_segment", "First segment at the runner"],
  ["runner_send_first_processed_segment", "First segment processed"],
  ["orchestrator_swap", "Orchestrator left"],
]);

/** One that is not known here is said as it is written. */
export function edgeWords(name: string): string {
  return EDGES.get(name) ?? capital(name);
}

export function capital(name: string): string {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const REASONS = new Map([
  ["unparsable", "Not JSON"],
  ["too_large", "Too large"],
  ["not_an_object", "Not an object"],
  ["no_type", "Without a type"],
  ["no_time", "Without a usable time"],
  ["in_the_future", "Dated in the future"],
  ["wrong_data", "Wrong shape of data"],
]);

export function reasonWords(reason: string): string {
  return REASONS.get(reason) ?? capital(reason);
}

/** Counting ends there. */
export function countWords(total: number): string {
  return total >= 10_000 ? "10,000 sessions or more" : plural(total, "session");
}
