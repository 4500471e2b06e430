/**
 * The streams of the tenant: read when something happens to them, and every few seconds while one is published, since
 * its picture and health change without an event.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { StreamsDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { Listener } from "../live/feed";
import type { StreamEvent } from "../live/socket";
import { isPublished, ordered, type Stream } from "./model";
import { repeatWhile } from "./repeat";

export interface Shown {
  readonly streams: readonly Stream[];
  readonly totalCount: number;
  /** When it was read: pictures under the same address are new ones. */
  readonly readAt: number;
}

export interface Wall extends Listener<StreamEvent> {
  readonly shown: ReadonlySignal<Shown | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

const MOST_SHOWN = 100;

export function createWall(request: Request, ends: AbortSignal): Wall {
  const shown = signal<Shown | null>(null);
  const loading = signal<Loading>({ kind: "loading" });

  async function read(): Promise<void> {
    const { edges, totalCount } = (await request(StreamsDocument, { first: MOST_SHOWN })).streamsConnection;
    shown.value = { streams: ordered(edges.map(({ node }) => node)), totalCount, readAt: Date.now() };
  }

  const refresh = createRefresh({ read, wait, ends });
  repeatWhile(() => shown.peek()?.streams.some(isPublished) ?? false, refresh, ends);
  return { shown, loading, load: () => attempt(loading, read), refresh, onEvent: refresh, onGap: refresh };
}
