/**
 * Questions in the address and in what is asked. Pure.
 * Invariant: an address read and written again is the same question; what it says wrongly is left out.
 */
import type { SearchFilters, SearchQueryVariables } from "../api/generated";
import { SEARCH_PATH } from "../app/routes";
import { FILTERS, SORTS, type FilterName, type Filters, type Question, type Sort, type Where } from "./model";

/** As the address names them. */
const PLACES: Readonly<Record<string, Where>> = { picture: "PICTURE", title: "TITLE", match: "MATCH" };
const WHERE = /(?<!\S)where:(\w+)(?!\S)/gi;
const DAY = /^\d{4}-\d\d-\d\d$/;

export function questionOf(query: string): Question {
  const given = new URLSearchParams(query);
  const sort = SORTS.find((known) => known === given.get("sort")) ?? "relevance";
  return { text: tidy(given.get("q")), sort, filters: filtersOf((name) => given.get(name)) };
}

function filtersOf(given: (name: FilterName) => string | null): Filters {
  const pairs = FILTERS.map((name) => [name, tidy(given(name))] as const);
  return Object.fromEntries(pairs.filter(([name, value]) => value !== "" && isPossible(name, value)));
}

function isPossible(name: FilterName, value: string): boolean {
  if (name === "where") return value in PLACES;
  if (name === "min") return /^[01](\.\d+)?$/.test(value) && Number(value) <= 1;
  if (name === "after" || name === "before") return DAY.test(value) && !Number.isNaN(dayStart(value).getTime());
  return true;
}

export function searchPath({ text, sort, filters }: Question): string {
  const given = new URLSearchParams();
  if (text !== "") given.set("q", text);
  for (const name of FILTERS) if (filters[name] !== undefined) given.set(name, filters[name]);
  if (sort !== "relevance") given.set("sort", sort);
  const query = given.toString();
  return query === "" ? SEARCH_PATH : `${SEARCH_PATH}?${query}`;
}

/** Nothing to look for: neither words nor filters. */
export function isEmpty({ text, filters }: Question): boolean {
  return text === "" && Object.keys(filters).length === 0;
}

export function withFilter(question: Question, name: FilterName, value: string): Question {
  return { ...question, filters: filtersOf((other) => (other === name ? value : (question.filters[other] ?? null))) };
}

/** The place that is asked for, by the filter or in the text; null: any, or several. */
export function placeOf({ text, filters }: Question): Where | null {
  const names = new Set([filters.where, ...[...text.matchAll(WHERE)].map(([, name]) => name?.toLowerCase())]);
  names.delete(undefined);
  const [name] = names;
  return names.size === 1 && name !== undefined ? (PLACES[name] ?? null) : null;
}

/** Asks for one place, or with null for any, whatever the text says of places. */
export function withPlace(question: Question, place: Where | null): Question {
  const name = Object.keys(PLACES).find((known) => PLACES[known] === place) ?? "";
  return withFilter({ ...question, text: tidy(question.text.replace(WHERE, " ")) }, "where", name);
}

export function withoutFilters(question: Question): Question {
  return { ...question, filters: {} };
}

/** As the gateway takes it. */
export function variablesOf({
  text,
  sort,
  filters,
}: Question): Omit<SearchQueryVariables, "first" | "after" | "withPlaces"> {
  return { query: text, sort: SORT_NAMES[sort], filters: askedFilters(filters) };
}

const SORT_NAMES = { relevance: "RELEVANCE", recency: "RECENCY", confidence: "CONFIDENCE" } as const satisfies Record<
  Sort,
  string
>;

/** Days are those of whoever looks: from the start of the one to the end of the other. */
function askedFilters(filters: Filters): SearchFilters {
  const { where, entity, lang, min, after, before, match, team, player } = filters;
  const place = where === undefined ? undefined : PLACES[where];
  return {
    where: place === undefined ? null : [place],
    entities: listed(entity),
    languages: listed(lang),
    minConfidence: min === undefined ? null : Number(min),
    after: after === undefined ? null : dayStart(after).toISOString(),
    before: before === undefined ? null : dayStart(before, 1).toISOString(),
    match: match ?? null,
    team: team ?? null,
    player: player ?? null,
  };
}

function listed(value: string | undefined): string[] | null {
  const parts = value?.split(",").map(tidy).filter(Boolean);
  return parts ?? null;
}

function dayStart(day: string, later = 0): Date {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  const start = new Date(year, month - 1, date);
  const isReal = start.getMonth() === month - 1 && start.getDate() === date;
  return isReal ? new Date(year, month - 1, date + later) : new Date(NaN);
}

function tidy(value: string | null): string {
  return (value ?? "").trim().replace(/\s+/g, " ");
}
