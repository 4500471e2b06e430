/** The day in the address, or what matches are searched for. Pure. */
import { MATCHES_PATH } from "../app/routes";

/** What stands behind the question mark; what is no day counts as none. */
export function dayOf(query: string): string {
  const day = new URLSearchParams(query).get("day") ?? "";
  return /^\d{4}-\d\d-\d\d$/.test(day) ? day : "";
}

export function dayPath(day: string): string {
  return `${MATCHES_PATH}?day=${day}`;
}

/** A team, a competition or a scorer. */
export function wordsOf(query: string): string {
  return (new URLSearchParams(query).get("q") ?? "").trim().slice(0, 200);
}

export function namedPath(words: string): string {
  const wanted = words.trim();
  return wanted === "" ? MATCHES_PATH : `${MATCHES_PATH}?${new URLSearchParams({ q: wanted }).toString()}`;
}
