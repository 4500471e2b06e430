/** Where the rows of a question are as a file. Pure. */
import { filterOf } from "./address";
import type { Question } from "./model";

/** What has another name there than in GraphQL, or is written in another way. */
const METRICS = {
  STARTUP: "startup_ms",
  E2E: "e2e_proxy_ms",
  PROMPT_TO_PLAYABLE: "prompt_to_playable_ms",
  GATEWAY_RUNNER_LAG: "gateway_runner_lag_ms",
};

export function exportPath(question: Question, format: "csv" | "parquet", now: number): string {
  const { workflowType, outcome, metric, atLeastMs, belowMs, ...same } = filterOf(question, now);
  const given = new URLSearchParams({ format });
  const asked = {
    ...same,
    workflow_type: workflowType,
    outcome: outcome?.toLowerCase(),
    metric: metric ? METRICS[metric] : null,
    at_least_ms: atLeastMs,
    below_ms: belowMs,
  };
  for (const [name, value] of Object.entries(asked)) {
    if (value !== null && value !== undefined) given.set(name, String(value));
  }
  return `/sessions/export?${given.toString()}`;
}
