/** Which key does what on the page of search. Pure. Fields keep their keys; Enter on a link or button is theirs. */
import type { KeyPress } from "../player/shortcuts";

export type SearchKey =
  | { readonly kind: "box" }
  | { readonly kind: "move"; readonly by: 1 | -1 }
  | { readonly kind: "play" }
  | { readonly kind: "clip" };

const KEYS = new Map<string, SearchKey>([
  ["/", { kind: "box" }],
  ["ArrowDown", { kind: "move", by: 1 }],
  ["ArrowUp", { kind: "move", by: -1 }],
  ["Enter", { kind: "play" }],
  ["c", { kind: "clip" }],
]);

export function searchKey({ key, hasModifier, focus }: KeyPress): SearchKey | null {
  if (hasModifier || focus === "field" || focus === "slider") return null;
  const found = KEYS.get(key) ?? null;
  return found?.kind === "play" && focus === "button" ? null : found;
}

/** Where the selection goes; null: out at the top, back to what was typed. It stops at the end. */
export function moved(selected: number | null, by: 1 | -1, count: number): number | null {
  if (selected === null) return by === 1 && count > 0 ? 0 : null;
  const next = selected + by;
  return next < 0 ? null : Math.min(next, count - 1);
}

export interface BoxState {
  readonly options: readonly string[];
  readonly open: boolean;
  /** The option that is chosen; null: what was typed. */
  readonly active: number | null;
}

export type BoxKey =
  | { readonly kind: "activate"; readonly option: number | null }
  | { readonly kind: "choose"; readonly text: string }
  | { readonly kind: "close" }
  | { readonly kind: "leave" }; // down, to what was found

/** Keys of the field. What is not answered is the field's own: Enter sends what was typed. */
export function boxKey(key: string, { options, open, active }: BoxState): BoxKey | null {
  const isOpen = open && options.length > 0;
  if (key === "ArrowDown")
    return isOpen ? { kind: "activate", option: after(active, options.length) } : { kind: "leave" };
  if (!isOpen) return null;
  if (key === "ArrowUp") return { kind: "activate", option: before(active, options.length) };
  if (key === "Escape") return { kind: "close" };
  const chosen = active === null ? undefined : options[active];
  return key === "Enter" && chosen !== undefined ? { kind: "choose", text: chosen } : null;
}

/** Round and round, past what was typed. */
function after(active: number | null, count: number): number | null {
  const next = active === null ? 0 : active + 1;
  return next < count ? next : null;
}

function before(active: number | null, count: number): number | null {
  if (active === null) return count - 1;
  return active > 0 ? active - 1 : null;
}
