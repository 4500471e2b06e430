/** The days with matches, and whether the feed answers that they come from: read again when something happens. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { MatchDaysDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait, type Wait } from "../kernel/waiting";
import type { MatchListener } from "../live/feed";
import type { FootballFeed, MatchDay } from "./model";
import { readAgainAfter } from "./rules";

export interface Days extends MatchListener {
  readonly days: ReadonlySignal<readonly MatchDay[]>;
  readonly feed: ReadonlySignal<FootballFeed | null>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
}

export function createDays(request: Request, ends: AbortSignal, pause: Wait = wait): Days {
  const days = signal<readonly MatchDay[]>([]);
  const feed = signal<FootballFeed | null>(null);
  const loading = signal<Loading>({ kind: "loading" });
  let isWaiting = false;

  async function read(): Promise<void> {
    try {
      const answer = await request(MatchDaysDocument, {});
      days.value = answer.matchDays;
      feed.value = answer.footballFeed;
      loading.value = { kind: "idle" };
    } finally {
      readAgain();
    }
  }

  /** No event tells that the feed failed, or that it answers again without a match. */
  function readAgain(): void {
    const after = readAgainAfter(feed.peek(), days.peek(), Date.now());
    if (after === null || isWaiting) return;
    isWaiting = true;
    pause(after, ends)
      .then(() => {
        isWaiting = false;
        refresh();
      })
      .catch(() => undefined); // only the end of the page interrupts it
  }

  const refresh = createRefresh({ read, wait: pause, ends });
  return {
    days,
    feed,
    loading,
    load: () => attempt(loading, read),
    // A match that comes or begins changes what the days say; how a search goes on does not.
    onEvent: ({ eventId }) => {
      if (eventId === null) refresh();
    },
    onGap: refresh,
  };
}
