/** Sessions as the API sends them, with only what a test is about spelled out. */
import type { Bucket, Group, Percentiles, Question, SessionDetail, Summary } from "../../src/sessions/model";

const START = Date.parse("2026-01-08T21:49:05.298Z");

/** So many milliseconds after the session began. */
export function after(milliseconds: number): string {
  return new Date(START + milliseconds).toISOString();
}

export const everything: Question = { view: "overview", range: { span: "day" }, filters: {}, order: "latest" };

export function percentiles(given: Partial<Percentiles> = {}): Percentiles {
  return { count: 0, p50: null, p90: null, p95: null, p99: null, ...given };
}

export function bucket(given: Partial<Bucket> = {}): Bucket {
  return {
    start: after(0),
    seconds: 60,
    sessions: 1,
    success: 1,
    excused: 0,
    unexcused: 0,
    running: 0,
    cancelled: 0,
    notInDenominator: 0,
    swapped: 0,
    startupP50: 2655,
    startupP95: 2655,
    ...given,
  };
}

export function summary(given: Partial<Summary> = {}): Summary {
  const none = percentiles();
  return {
    sessions: 0,
    known: 0,
    success: 0,
    excused: 0,
    unexcused: 0,
    running: 0,
    cancelled: 0,
    swapped: 0,
    errors: 0,
    startup: none,
    e2e: none,
    promptToPlayable: none,
    gatewayRunnerLag: none,
    ...given,
  };
}

export function group(given: Partial<Group> = {}): Group {
  const startup = { count: 0, p50: null, p95: null };
  return {
    key: "gw-1",
    sessions: 0,
    known: 0,
    success: 0,
    excused: 0,
    unexcused: 0,
    running: 0,
    cancelled: 0,
    swapped: 0,
    errors: 0,
    startup,
    ...given,
  };
}

export function session(given: Partial<SessionDetail> = {}): SessionDetail {
  return {
    id: "stream|request",
    workflowType: "ai_live_video_stream",
    sessionStartTs: after(0),
    sessionEndTs: after(100_000),
    progress: "SUCCESS",
    stream: null,
    jobId: null,
    video: null,
    goalTitle: null,
    startupMs: 2655,
    e2eProxyMs: 105,
    promptToPlayableMs: 6435,
    swapCount: 0,
    errorCount: 0,
    orchestratorAddress: "0xa",
    gateway: null,
    modelId: null,
    isFinal: true,
    streamId: "stream",
    requestId: "request",
    workflowId: null,
    pipelineId: null,
    firstPlayableTs: after(6000),
    firstProcessedTs: after(2655),
    closedTs: null,
    gatewayRunnerLagMs: 2550,
    explicitSwapCount: 0,
    orchestratorCount: 1,
    excusableErrorCount: 0,
    excusablePatterns: [],
    observedOrchestratorAddress: "0xa",
    orchestratorUrl: null,
    gpuId: null,
    gpuAttributionMethod: "none",
    gpuAttributionConfidence: 0,
    version: 1,
    semanticsVersion: 1,
    qualityFlags: [],
    segments: [],
    parameterUpdates: [],
    timeline: { edges: [], errors: [], samples: [], truncated: false },
    ...given,
  };
}

export function segment(index: number, from: number, to: number | null, address: string | null) {
  return {
    segmentIndex: index,
    segmentStartTs: after(from),
    segmentEndTs: to === null ? null : after(to),
    orchestratorAddress: address,
    orchestratorUrl: null,
    modelId: null,
    gpuId: null,
    reason: "initial",
  };
}

export function change(at: number, given: Partial<SessionDetail["parameterUpdates"][number]> = {}) {
  return {
    updateTs: after(at),
    segmentIndex: 0,
    eventType: "params_update",
    paramsHash: null,
    params: null,
    fpsBefore: null,
    fpsAfter: null,
    jitterBefore: null,
    jitterAfter: null,
    windowSeconds: 10,
    ...given,
  };
}

export function sample(at: number, outputFps: number | null, jitterMs: number | null = null) {
  return { ts: after(at), outputFps, inputFps: null, jitterMs };
}
