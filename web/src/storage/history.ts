/** One artifact: where it is, and what has happened to it. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { StoredArtifactDocument } from "../api/generated";
import { problemOf, type Problem } from "../kernel/problem";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { StorageListener } from "../live/feed";
import type { HistoryEvent, Stored } from "./model";

export type HistoryState =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly problem: Problem }
  | {
      readonly kind: "shown";
      readonly stored: Stored | null; // null: it holds no bytes any more
      readonly events: readonly HistoryEvent[];
      readonly more: boolean;
    };

export interface History extends StorageListener {
  readonly state: ReadonlySignal<HistoryState>;
  readonly load: () => Promise<void>;
  readonly refresh: () => void;
}

// The history is written a moment after the event that the page hears of: it is read again until it must be there.
const AGAIN_MS = [1000, 3000, 9000] as const;

export function createHistory(request: Request, artifactHash: string, ends: AbortSignal): History {
  const state = signal<HistoryState>({ kind: "loading" });

  async function read(): Promise<void> {
    const found = await request(StoredArtifactDocument, { artifactHash });
    const { edges, pageInfo } = found.serviceEventsConnection;
    state.value = {
      kind: "shown",
      stored: found.storedArtifactsConnection.edges[0]?.node ?? null,
      events: edges.map(({ node }) => node),
      more: pageInfo.hasNextPage,
    };
  }

  const refresh = createRefresh({ read, wait, ends });

  async function refreshUntilWritten(): Promise<void> {
    refresh();
    for (const delay of AGAIN_MS) {
      await wait(delay, ends);
      refresh();
    }
  }
  return {
    state,
    refresh,
    async load() {
      try {
        await read();
      } catch (error) {
        state.value = { kind: "failed", problem: problemOf(error) };
      }
    },
    onEvent(event) {
      if (event.artifactHash === artifactHash) refreshUntilWritten().catch(() => undefined); // the page was left
    },
    onGap: refresh,
  };
}
