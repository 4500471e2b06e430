/**
 * What was asked last and what was found, page by page. It outlives the page, so that going back shows it at once.
 * Invariant: hits are of the last question; answers to earlier ones are dropped, in whichever order they come.
 */
import { batch, computed, signal, type ReadonlySignal } from "@preact/signals";
import { expectAnswer } from "../api/answers";
import type { Request } from "../api/client";
import { SearchDocument } from "../api/generated";
import { attempt, type Loading } from "../kernel/loading";
import { isEmpty, searchPath, variablesOf } from "./address";
import type { Correction, Hit, PlaceCount, Question, SearchPageAnswer } from "./model";

export interface Search {
  readonly hits: ReadonlySignal<readonly Hit[]>;
  readonly corrections: ReadonlySignal<readonly Correction[]>;
  readonly complete: ReadonlySignal<boolean>;
  /** How many texts of each place match, whichever place is asked for. */
  readonly places: ReadonlySignal<readonly PlaceCount[]>;
  /** The question as a whole, while there is nothing to show yet. */
  readonly first: ReadonlySignal<Loading>;
  readonly more: ReadonlySignal<Loading>;
  /** The hit that keys act on, by its number. */
  readonly selected: ReadonlySignal<number | null>;
  readonly select: (hit: number | null) => void;
  /** Whether what is here belongs to this question. */
  readonly isOf: (question: Question) => boolean;
  /** What is there for this question already is kept. */
  readonly ask: (question: Question) => Promise<void>;
  readonly askAgain: (question: Question) => Promise<void>;
  readonly loadMore: () => Promise<void>;
}

interface Found {
  readonly hits: readonly Hit[];
  readonly corrections: readonly Correction[];
  readonly places: readonly PlaceCount[];
  readonly endCursor: string | null; // null: that is all
}

const PAGE_SIZE = 20;
const NOTHING: Found = { hits: [], corrections: [], places: [], endCursor: null };

export function createSearch(request: Request): Search {
  const found = signal(NOTHING);
  const first = signal<Loading>({ kind: "idle" });
  const more = signal<Loading>({ kind: "idle" });
  const selected = signal<number | null>(null);
  const asked = signal<Question | null>(null);

  async function read(question: Question, after: string | null): Promise<void> {
    const variables = { ...variablesOf(question), first: PAGE_SIZE, after, withPlaces: after === null };
    const page = expectAnswer((await request(SearchDocument, variables)).search, "SearchPage");
    if (question === asked.peek()) found.value = withPage(after === null ? NOTHING : found.peek(), page);
  }

  /** Its own states, so that an earlier question cannot speak for a later one. */
  async function told(state: { value: Loading }, question: Question, work: () => Promise<void>): Promise<void> {
    const own = signal<Loading>({ kind: "loading" });
    state.value = own.value;
    await attempt(own, work);
    if (question === asked.peek()) state.value = own.value;
  }

  async function askAgain(question: Question): Promise<void> {
    batch(() => {
      asked.value = question;
      found.value = NOTHING;
      selected.value = null;
      more.value = { kind: "idle" };
      first.value = { kind: "idle" };
    });
    if (!isEmpty(question)) await told(first, question, () => read(question, null));
  }

  return {
    hits: computed(() => found.value.hits),
    corrections: computed(() => found.value.corrections),
    places: computed(() => found.value.places),
    complete: computed(() => found.value.endCursor === null),
    first,
    more,
    selected,
    isOf: (question) => isSame(asked.value, question),
    select: (hit) => (selected.value = hit),
    async ask(question) {
      if (!isSame(asked.peek(), question) || first.peek().kind === "failed") await askAgain(question);
    },
    askAgain,
    async loadMore() {
      const [question, { endCursor }] = [asked.peek(), found.peek()];
      if (question === null || endCursor === null || more.peek().kind === "loading") return;
      await told(more, question, () => read(question, endCursor));
    },
  };
}

function isSame(one: Question | null, other: Question): boolean {
  return one !== null && searchPath(one) === searchPath(other);
}

/** A text may come twice when it was read anew between two pages. Places are counted with the first page. */
export function withPage(found: Found, { edges, pageInfo, corrections, places }: SearchPageAnswer): Found {
  const known = new Set(found.hits.map(({ segmentId }) => segmentId));
  const hits = edges.map(({ node }) => node).filter((hit): hit is Hit => hit.vod !== null && !known.has(hit.segmentId));
  return {
    hits: [...found.hits, ...hits],
    corrections: found.hits.length === 0 ? corrections : found.corrections,
    places: places ?? found.places,
    endCursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  };
}
