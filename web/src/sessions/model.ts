/** Sessions as the page knows them, and what somebody asks of them. */
import type {
  IngestQualityQuery,
  QuarantinedEventsQuery,
  SessionDistributionQuery,
  SessionGroupFieldsFragment,
  SessionOverviewQuery,
  SessionRowFieldsFragment,
  WorkflowSessionQuery,
} from "../api/generated";

export type Session = SessionRowFieldsFragment;
export type Summary = SessionOverviewQuery["sessionSummary"];
export type Bucket = SessionOverviewQuery["sessionSeries"][number];
export type Percentiles = Summary["startup"];
export type Distribution = SessionDistributionQuery["sessionDistribution"];
export type Bar = Distribution["bars"][number];
export type Group = SessionGroupFieldsFragment;
export type Intake = IngestQualityQuery["ingestQuality"];
export type QuarantinedEvent = QuarantinedEventsQuery["quarantinedEventsConnection"]["edges"][number]["node"];
export type SessionDetail = NonNullable<WorkflowSessionQuery["workflowSession"]>;
export type Segment = SessionDetail["segments"][number];
export type ParameterUpdate = SessionDetail["parameterUpdates"][number];
export type Sample = SessionDetail["timeline"]["samples"][number];

export const VIEWS = ["overview", "rows", "intake"] as const;
export type View = (typeof VIEWS)[number];

export const SPANS = ["hour", "day", "week", "month", "year"] as const;
export type Span = (typeof SPANS)[number];

/** One that ends now, or one's own: epoch milliseconds, from the one to just before the other. */
export type Range =
  { readonly span: Span } | { readonly span: "own"; readonly from: number | null; readonly to: number | null };

/** Things that sessions are grouped by; also the names of their filters. */
export const DIMENSIONS = ["type", "gateway", "orchestrator", "model", "gpu"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** What a breakdown is made by. The hour of the day, in UTC, is no filter. */
export const GROUPINGS = [...DIMENSIONS, "hour"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const FILTERS = [...DIMENSIONS, "outcome", "swapped", "failed", "latency", "find", "reason"] as const;
export type FilterName = (typeof FILTERS)[number];
/** Of a dimension, the empty text: sessions of which it is not known. */
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export const OUTCOMES = ["success", "excused", "unexcused", "running", "cancelled", "uncounted"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const METRICS = ["startup", "e2e", "playable", "lag"] as const;
export type Metric = (typeof METRICS)[number];

export const ORDERS = ["latest", "slowest", "errors", "swaps"] as const;
export type Order = (typeof ORDERS)[number];

export interface Question {
  readonly view: View;
  readonly range: Range;
  readonly filters: Filters;
  readonly order: Order;
}
