/** The matches of one day: read as a whole, then match by match as events tell of them. Decisions are in rules.ts. */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { MatchDocument, MatchesOfDayDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait, type Wait } from "../kernel/waiting";
import type { MatchListener } from "../live/feed";
import type { Match } from "./model";
import { goneGoal, isOfDay, withoutGone } from "./rules";

export interface Matches extends MatchListener {
  readonly matches: ReadonlySignal<readonly Match[]>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
}

const PAGE_SIZE = 100;
const MOST_PAGES = 5;
/** More at once are one reading of the day. */
const MOST_SINGLE_READS = 6;

export function createMatches(request: Request, day: string, ends: AbortSignal, pause: Wait = wait): Matches {
  const known = signal<ReadonlyMap<string, Match>>(new Map());
  const gone = signal<ReadonlySet<string>>(new Set());
  const loading = signal<Loading>({ kind: "loading" });
  const wanted = new Set<string>();
  const elsewhere = new Set<string>(); // matches of other days
  let isWhole = false; // whether all of the day is wanted

  async function readDay(): Promise<void> {
    const read = new Map<string, Match>();
    let after: string | null = null;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const variables: { day: string; page: { first: number; after: string | null } } = {
        day,
        page: { first: PAGE_SIZE, after },
      };
      const { edges, pageInfo } = (await request(MatchesOfDayDocument, variables)).matchesConnection;
      for (const { node } of edges) read.set(node.id, node);
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) break;
    }
    known.value = read;
    elsewhere.clear();
    loading.value = { kind: "idle" };
  }

  async function readMatch(id: string): Promise<void> {
    const { match } = await request(MatchDocument, { id });
    const next = new Map(known.peek());
    if (match !== null && isOfDay(match, day)) next.set(id, match);
    else next.delete(id);
    if (!next.has(id)) elsewhere.add(id);
    known.value = next;
  }

  async function read(): Promise<void> {
    const [ids, all] = [[...wanted], isWhole];
    wanted.clear();
    isWhole = false;
    try {
      if (all || ids.length > MOST_SINGLE_READS) await readDay();
      else await Promise.all(ids.map(readMatch));
    } catch (error) {
      isWhole = true; // what was missed is read with the next wish
      throw error;
    }
  }

  const refresh = createRefresh({ read, wait: pause, ends });

  return {
    matches: computed(() => [...known.value.values()].map((match) => withoutGone(match, gone.value))),
    loading,
    load: () => attempt(loading, readDay),
    onEvent(event) {
      const taken = goneGoal(event);
      if (taken !== null) gone.value = new Set([...gone.peek(), taken]);
      if (elsewhere.has(event.matchId)) return;
      wanted.add(event.matchId);
      refresh();
    },
    onGap() {
      isWhole = true;
      refresh();
    },
  };
}
