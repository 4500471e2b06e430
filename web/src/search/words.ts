/** What the page of search says. Pure. */
import { formatDuration, plural } from "../kernel/format";
import type { Correction, Hit, ListedFilter, PlaceCount, Where } from "./model";

const MOST_READ_AS = 4;
const languages = new Intl.DisplayNames("en", { type: "language", fallback: "code" });
const inList = new Intl.ListFormat("en", { type: "disjunction" });

export const FILTER_LABELS: Record<ListedFilter, string> = {
  entity: "Contains",
  lang: "Language",
  min: "Confidence",
  after: "From",
  before: "To",
  match: "Match",
  team: "Team",
  player: "Player",
};

export const PLACE_NAMES: Record<Where, string> = { PICTURE: "Text on screen", TITLE: "Title", MATCH: "Match facts" };
export const PLACES_SHOWN: readonly Where[] = ["PICTURE", "TITLE", "MATCH"];

/** `12`, or `999+` where counting stopped. */
export function placeCountText({ count, hasMore }: Pick<PlaceCount, "count" | "hasMore">): string {
  return `${count}${hasMore ? "+" : ""}`;
}

export const ENTITIES: readonly (readonly [value: string, name: string])[] = [
  ["mention", "A mention (@)"],
  ["hashtag", "A hashtag (#)"],
  ["url", "A web address"],
  ["emoji", "An emoji"],
  ["number", "A number"],
  ["score", "A score"],
  ["clock", "A clock"],
  ["currency", "An amount of money"],
  ["unit", "A number with a unit"],
];

/** As readers of pictures name them. */
export const LANGUAGES = ["ara", "deu", "eng", "fra", "ita", "jpn", "kor", "nld", "pol", "por", "rus", "spa", "tur"];

export const CONFIDENCES = ["0.5", "0.8", "0.9", "0.95"];

export function languageName(code: string): string {
  return /^[a-z]{2,3}$/.test(code) ? (languages.of(code) ?? code) : code; // or a reader's own name for it
}

export function percentName(share: string | number): string {
  return `${Math.floor(Number(share) * 100 + 1e-9)}%`;
}

export function filterText(name: ListedFilter, value: string): string {
  if (name === "min") return `Confidence at least ${percentName(value)}`;
  if (name === "lang") return value.split(",").map(languageName).join(" or ");
  if (name === "entity") return ENTITIES.find(([known]) => known === value)?.[1] ?? value;
  return `${FILTER_LABELS[name]}: ${value}`;
}

export function countText(count: number, complete: boolean): string {
  if (count === 0) return complete ? "No results" : "";
  return complete ? plural(count, "result") : `${plural(count, "result")} so far`;
}

export function correctionText({ word, readAs }: Correction): string {
  const shown = readAs.slice(0, MOST_READ_AS).map((read) => `“${read}”`);
  const rest = readAs.length > MOST_READ_AS ? ["others like it"] : [];
  return `No results for “${word}”; showing results for ${inList.format([...shown, ...rest])}.`;
}

/** Where it was found, and what is known of it there: `on screen for 4.2 s`, `95% sure`; `in the title`. */
export function foundIn({
  where,
  startMs,
  endMs,
  confidence,
}: Pick<Hit, "where" | "startMs" | "endMs" | "confidence">) {
  switch (where) {
    case "TITLE":
      return ["in the title"];
    case "MATCH":
      return ["in the match facts"];
    case "PICTURE":
      return [`on screen for ${shownFor(startMs, endMs)}`, `${percentName(confidence)} confidence`];
  }
}

/** How long a text is to be seen: `0.9 s`, `42 s`, `1:05:00`. */
export function shownFor(startMs: number, endMs: number): string {
  const length = Math.max(0, endMs - startMs);
  if (length >= 60_000) return formatDuration(length);
  return `${length < 9_950 ? (length / 1000).toFixed(1) : Math.round(length / 1000)} s`;
}

/** To the tenth of a second, without rounding up: `1:02.9`. */
export function formatMoment(milliseconds: number): string {
  return `${formatDuration(milliseconds)}.${Math.floor((milliseconds % 1000) / 100)}`;
}
