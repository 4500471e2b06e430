/**
 * Sessions by pages. While only the first page is shown it is read again and again; once somebody has gone on, what
 * they read stays where it is.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { WorkflowSessionsDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { filterOf, ORDER_NAMES } from "./address";
import type { Question, Session } from "./model";
import { createReading, type ReadingParts } from "./reading";

export interface SessionList {
  readonly sessions: ReadonlySignal<readonly Session[] | null>;
  readonly totalCount: ReadonlySignal<number>;
  readonly first: ReturnType<typeof createReading<unknown>>;
  readonly hasMore: ReadonlySignal<boolean>;
  readonly more: ReadonlySignal<Loading>;
  readonly loadMore: () => Promise<void>;
}

const PAGE = 50;

export function createSessionList(request: Request, question: Question, parts: ReadingParts): SessionList {
  const sessions = signal<readonly Session[] | null>(null);
  const totalCount = signal(0);
  const hasMore = signal(false);
  const more = signal<Loading>({ kind: "idle" });
  let cursor: string | null = null;
  let isLong = false;

  async function page(after: string | null) {
    const variables = {
      filter: filterOf(question, Date.now()),
      orderBy: ORDER_NAMES[question.order],
      page: { first: PAGE, after },
    };
    return (await request(WorkflowSessionsDocument, variables)).workflowSessionsConnection;
  }

  function show(shown: readonly Session[], read: Awaited<ReturnType<typeof page>>): void {
    sessions.value = shown;
    totalCount.value = read.totalCount;
    cursor = read.pageInfo.endCursor;
    hasMore.value = read.pageInfo.hasNextPage;
  }

  const first = createReading(async () => {
    if (isLong) return;
    const read = await page(null);
    if (!isGone()) show(nodesOf(read), read);
  }, parts);

  /** Somebody went on while the first page was on its way. */
  function isGone(): boolean {
    return isLong;
  }

  return {
    sessions,
    totalCount,
    first,
    hasMore,
    more,
    async loadMore() {
      if (more.peek().kind === "loading" || cursor === null) return;
      isLong = true;
      await attempt(more, async () => {
        const read = await page(cursor);
        show(withoutDoubles([...(sessions.peek() ?? []), ...nodesOf(read)]), read);
      });
    },
  };
}

function nodesOf(read: { readonly edges: readonly { readonly node: Session }[] }): Session[] {
  return read.edges.map(({ node }) => node);
}

/** A session may have moved to the next page in between. */
export function withoutDoubles(sessions: readonly Session[]): Session[] {
  return [...new Map(sessions.map((session) => [session.id, session])).values()];
}
