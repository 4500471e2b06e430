/** Events that could not be read, by pages, the newest first. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { QuarantinedEventsDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import type { QuarantinedEvent } from "./model";
import { createReading, type Reading, type ReadingParts } from "./reading";

export interface QuarantineList {
  readonly events: ReadonlySignal<readonly QuarantinedEvent[] | null>;
  readonly first: Reading<void>;
  readonly hasMore: ReadonlySignal<boolean>;
  readonly more: ReadonlySignal<Loading>;
  readonly loadMore: () => Promise<void>;
}

const PAGE = 20;

export function createQuarantine(request: Request, reason: string | null, parts: ReadingParts): QuarantineList {
  const events = signal<readonly QuarantinedEvent[] | null>(null);
  const hasMore = signal(false);
  const more = signal<Loading>({ kind: "idle" });
  let cursor: string | null = null;
  let isLong = false;

  async function read(after: string | null, before: () => readonly QuarantinedEvent[]): Promise<void> {
    const page = (await request(QuarantinedEventsDocument, { page: { first: PAGE, after }, reason }))
      .quarantinedEventsConnection;
    events.value = [...before(), ...page.edges.map(({ node }) => node)];
    cursor = page.pageInfo.endCursor;
    hasMore.value = page.pageInfo.hasNextPage;
  }

  return {
    events,
    first: createReading(async () => {
      if (!isLong) await read(null, () => []);
    }, parts),
    hasMore,
    more,
    async loadMore() {
      if (more.peek().kind === "loading" || cursor === null) return;
      isLong = true;
      await attempt(more, () => read(cursor, () => events.peek() ?? []));
    },
  };
}
