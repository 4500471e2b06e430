/** Words that may follow, while somebody types. Old answers and failures show nothing: it is help, not an answer. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Request } from "../api/client";
import { SearchSuggestionsDocument, type SearchSuggestionsQuery } from "../api/generated";
import type { Wait } from "../kernel/waiting";

export type Suggestion = SearchSuggestionsQuery["searchSuggestions"][number];

export interface Suggestions {
  readonly shown: ReadonlySignal<readonly Suggestion[]>;
  readonly typed: (text: string) => Promise<void>;
  /** Whatever is still on its way is not shown. */
  readonly clear: () => void;
}

const PAUSE_MS = 120;
const MOST = 8;

export function createSuggestions(request: Request, wait: Wait): Suggestions {
  const shown = signal<readonly Suggestion[]>([]);
  let turn = 0;
  return {
    shown,
    async typed(text) {
      turn += 1;
      const mine = turn;
      if (!canBeCompleted(text)) {
        shown.value = [];
        return;
      }
      await wait(PAUSE_MS);
      if (mine !== turn) return;
      const found = await request(SearchSuggestionsDocument, { prefix: text, first: MOST }).catch(() => null);
      if (mine === turn) shown.value = found?.searchSuggestions.filter((one) => one.text !== text) ?? [];
    },
    clear() {
      turn += 1;
      shown.value = [];
    },
  };
}

/** A word is being typed, and enough of it. In filters and phrases there is nothing to complete. */
export function canBeCompleted(text: string): boolean {
  const word = text.slice(text.lastIndexOf(" ") + 1);
  return /^[-#@]?[^\s":*~]{2,}$/u.test(word) && (text.split('"').length - 1) % 2 === 0;
}
