/** Keys of the page of search at work: the selected hit has the focus, so that Enter is the link's own. */
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { focusOf } from "../player/shortcuts";
import { moved, searchKey, type SearchKey } from "./keys";
import type { Hit } from "./model";
import type { Search } from "./search";

export interface SearchKeys {
  readonly move: (by: 1 | -1) => void;
}

export function useSearchKeys(
  search: Search,
  field: RefObject<HTMLInputElement | null>,
  list: RefObject<HTMLOListElement | null>,
  onClip: (hit: Hit) => void,
): SearchKeys {
  const links = () => [...(list.current?.querySelectorAll<HTMLAnchorElement>("a[href]") ?? [])];
  const toField = () => {
    field.current?.focus();
    field.current?.select();
  };
  const move = (by: 1 | -1) => {
    const hits = links();
    const next = moved(search.selected.peek(), by, hits.length);
    if (next === null) toField();
    else hits[next]?.focus({ preventScroll: true }); // the row comes into view as a whole
  };
  const selectedLink = () => links()[search.selected.peek() ?? -1];
  const clip = () => {
    const hit = search.hits.peek()[search.selected.peek() ?? -1];
    if (hit !== undefined && hit.box !== null) onClip(hit); // a title has no moment to cut
  };
  const press = (key: SearchKey) => {
    if (key.kind === "box") toField();
    else if (key.kind === "move") move(key.by);
    else if (key.kind === "play") selectedLink()?.click();
    else clip();
  };
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const hasModifier = event.altKey || event.ctrlKey || event.metaKey;
      const key = searchKey({ key: event.key, hasModifier, focus: focusOf(event.target) });
      if (key === null || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault(); // the page would scroll, or the field would get what was pressed
      press(key);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return { move };
}
