/** The days with matches, and what they have: read again when something happens. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { MatchDaysDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait } from "../kernel/waiting";
import type { MatchListener } from "../live/feed";
import type { MatchDay } from "./model";

export interface Days extends MatchListener {
  readonly days: ReadonlySignal<readonly MatchDay[]>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
}

export function createDays(request: Request, ends: AbortSignal): Days {
  const days = signal<readonly MatchDay[]>([]);
  const loading = signal<Loading>({ kind: "loading" });

  async function read(): Promise<void> {
    days.value = (await request(MatchDaysDocument, {})).matchDays;
    loading.value = { kind: "idle" };
  }

  const refresh = createRefresh({ read, wait, ends });
  return {
    days,
    loading,
    load: () => attempt(loading, read),
    // A match that comes or begins changes what the days say; how a search goes on does not.
    onEvent: ({ eventId }) => {
      if (eventId === null) refresh();
    },
    onGap: refresh,
  };
}
