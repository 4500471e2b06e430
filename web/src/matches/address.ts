/** The day in the address. Pure. */
import { MATCHES_PATH } from "../app/routes";

/** What stands behind the question mark; what is no day counts as none. */
export function dayOf(query: string): string {
  const day = new URLSearchParams(query).get("day") ?? "";
  return /^\d{4}-\d\d-\d\d$/.test(day) ? day : "";
}

export function dayPath(day: string): string {
  return `${MATCHES_PATH}?day=${day}`;
}
