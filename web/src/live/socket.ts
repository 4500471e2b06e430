/** One subscription over graphql-transport-ws. Coming back after it ended is not its business (see follow.ts). */
import { createClient, type Client } from "graphql-ws";
import { problemOfError, type GraphQlError, type Tokens } from "../api/client";
import {
  LiveClipsDocument,
  LiveJobsDocument,
  LiveLifecycleDocument,
  LiveMatchesDocument,
  LiveRecordingsDocument,
  LiveStorageDocument,
  LiveStreamsDocument,
  type LiveClipsSubscription,
  type LiveJobsSubscription,
  type LiveLifecycleSubscription,
  type LiveMatchesSubscription,
  type LiveRecordingsSubscription,
  type LiveStorageSubscription,
  type LiveStreamsSubscription,
  type TypedDocumentString,
} from "../api/generated";
import type { Ending, StreamHandlers } from "./follow";

export type LifecycleEvent = LiveLifecycleSubscription["liveVodLifecycle"];
export type ClipEvent = LiveClipsSubscription["liveClipLifecycle"];
export type JobEvent = LiveJobsSubscription["liveJobs"];
export type MatchEvent = LiveMatchesSubscription["liveMatches"];
export type RecordingEvent = LiveRecordingsSubscription["liveDvrLifecycle"];
export type StreamEvent = LiveStreamsSubscription["liveStreams"];
export type StorageEvent = LiveStorageSubscription["liveStorageEvents"];

const PING_EVERY_MS = 15_000;
const PONG_WITHIN_MS = 8_000;
/** The protocol's "unauthorized" and "forbidden". */
const REFUSED_CODES = new Set([4401, 4403]);
/** Errors that concern the cursor, as nothing else in this request can be wrong. */
const CURSOR_CODES = new Set(["invalid_input", "not_found", "conflict"]);

type Failure = "closed" | "token-refused" | "cursor-refused";

/** What can be followed: a subscription, and the event in each of its answers. */
export interface Stream<Event> {
  readonly open: (
    tokens: Tokens,
    after: string | null,
    handlers: StreamHandlers<Event>,
    signal: AbortSignal,
  ) => Promise<Ending>;
}

export const LIFECYCLE = streamOf(LiveLifecycleDocument, (data) => data.liveVodLifecycle);
export const CLIPS = streamOf(LiveClipsDocument, (data) => data.liveClipLifecycle);
export const JOBS = streamOf(LiveJobsDocument, (data) => data.liveJobs);
export const MATCHES = streamOf(LiveMatchesDocument, (data) => data.liveMatches);
export const RECORDINGS = streamOf(LiveRecordingsDocument, (data) => data.liveDvrLifecycle);
export const STREAMS = streamOf(LiveStreamsDocument, (data) => data.liveStreams);
export const STORAGE = streamOf(LiveStorageDocument, (data) => data.liveStorageEvents);

function streamOf<Result extends Record<string, unknown>, Variables, Event>(
  document: TypedDocumentString<Result, Variables>,
  eventOf: (data: Result) => Event,
): Stream<Event> {
  return {
    async open(tokens, after, handlers, signal) {
      try {
        const token = await tokens.accessToken();
        if (signal.aborted) return "closed";
        const onData = (data: Record<string, unknown>) => handlers.onEvent(eventOf(data as Result));
        const question = { query: document.toString(), variables: { after } };
        const failure = await answers(connect(token, handlers.onOpen), question, onData, signal);
        if (failure !== "token-refused") return failure;
        await tokens.renew(token);
      } catch {
        // No token to be had: the session says so to whoever watches it, and here it is one more interruption.
      }
      return "closed";
    },
  };
}

function answers(
  client: Client,
  question: { readonly query: string; readonly variables: Record<string, unknown> },
  onData: (data: Record<string, unknown>) => void,
  signal: AbortSignal,
): Promise<Failure> {
  return new Promise((resolve) => {
    let unsubscribe: () => void = () => undefined;
    const end = (failure: Failure) => {
      signal.removeEventListener("abort", onAbort);
      unsubscribe(); // first: a client that was still connecting would ask over a connection that is being closed
      void client.dispose();
      resolve(failure);
    };
    const onAbort = () => end("closed");
    signal.addEventListener("abort", onAbort, { once: true });
    unsubscribe = client.subscribe(question, {
      next: ({ data, errors }) => {
        if (errors !== undefined) end(failureOf(errors));
        else if (data) onData(data);
      },
      error: (error) => end(failureOf(error)),
      complete: () => end("closed"),
    });
  });
}

/** Pings, because a connection whose other side vanished looks open for many minutes. */
function connect(accessToken: string, onOpen: () => void): Client {
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const client: Client = createClient({
    url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/graphql`,
    connectionParams: { accessToken },
    retryAttempts: 0,
    keepAlive: PING_EVERY_MS,
    on: {
      connected: onOpen,
      ping: (received) => {
        if (!received) overdue = setTimeout(() => client.terminate(), PONG_WITHIN_MS);
      },
      pong: (received) => {
        if (received) clearTimeout(overdue);
      },
      closed: () => clearTimeout(overdue),
    },
  });
  return client;
}

function failureOf(error: unknown): Failure {
  if (Array.isArray(error)) {
    const code = problemOfError(error[0] as GraphQlError).code;
    if (CURSOR_CODES.has(code)) return "cursor-refused";
    return code === "unauthenticated" ? "token-refused" : "closed";
  }
  return REFUSED_CODES.has((error as Partial<CloseEvent>).code ?? 0) ? "token-refused" : "closed";
}
