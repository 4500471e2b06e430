/** Matches by team, competition or scorer, of all days: read again when something happens to one of them. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { SearchMatchesDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { createRefresh } from "../kernel/refresh";
import { wait, type Wait } from "../kernel/waiting";
import type { MatchListener } from "../live/feed";
import type { Match } from "./model";

export interface NamedMatches extends MatchListener {
  readonly matches: ReadonlySignal<readonly Match[]>;
  readonly loading: ReadonlySignal<Loading>;
  readonly load: () => Promise<void>;
}

const MOST = 50;

export function createNamed(request: Request, words: string, ends: AbortSignal, pause: Wait = wait): NamedMatches {
  const matches = signal<readonly Match[]>([]);
  const loading = signal<Loading>({ kind: "loading" });

  async function read(): Promise<void> {
    matches.value = (await request(SearchMatchesDocument, { query: words, first: MOST })).searchMatches;
    loading.value = { kind: "idle" };
  }

  const refresh = createRefresh({ read, wait: pause, ends });
  return { matches, loading, load: () => attempt(loading, read), onEvent: refresh, onGap: refresh };
}
