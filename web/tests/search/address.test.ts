import { expect, test } from "vitest";
import {
  isEmpty,
  placeOf,
  questionOf,
  searchPath,
  variablesOf,
  withFilter,
  withPlace,
  withoutFilters,
} from "../../src/search/address";

const FULL =
  "q=saka+%22full+time%22&entity=score&lang=eng&min=0.8&after=2026-03-01&before=2026-03-31&match=final&team=Man+Utd&player=saka&sort=recency";

test("an address is a question, and the question is the address", () => {
  const question = questionOf(FULL);
  expect(question).toEqual({
    text: 'saka "full time"',
    sort: "recency",
    filters: {
      entity: "score",
      lang: "eng",
      min: "0.8",
      after: "2026-03-01",
      before: "2026-03-31",
      match: "final",
      team: "Man Utd",
      player: "saka",
    },
  });
  expect(searchPath(question)).toBe(`/search?${FULL}`);
  expect(searchPath(questionOf(""))).toBe("/search");
});

test.each(["saka", "a&b=c#d?e", "日本 代表", "100%", "\u202eltr", "+plus  two", "<b>&amp;"])(
  "%j survives the address",
  (text) => {
    const once = questionOf(searchPath({ ...questionOf(""), text }).split("?")[1] ?? "");
    expect(once.text).toBe(text.trim().replace(/\s+/g, " "));
    expect(questionOf(searchPath(once).split("?")[1] ?? "")).toEqual(once);
  },
);

test.each([
  "sort=alphabet",
  "min=7",
  "min=-1",
  "min=1.5",
  "min=much",
  "after=yesterday",
  "after=2026-02-30",
  "before=2026-13-01",
  "team=",
  "team=%20",
  "colour=red",
  "constructor=1",
])("%s is left out", (query) => expect(questionOf(query)).toEqual(questionOf("")));

test("a question without words and filters is empty, an order makes it no fuller", () => {
  expect(isEmpty(questionOf("sort=recency"))).toBe(true);
  expect(isEmpty(questionOf("q=goal"))).toBe(false);
  expect(isEmpty(questionOf("team=Arsenal"))).toBe(false);
});

test("filters come and go one by one", () => {
  const question = questionOf("q=goal&team=Arsenal");
  expect(searchPath(withFilter(question, "min", "0.9"))).toBe("/search?q=goal&min=0.9&team=Arsenal");
  expect(searchPath(withFilter(question, "team", ""))).toBe("/search?q=goal");
  expect(searchPath(withFilter(question, "after", "2026-02-30"))).toBe(searchPath(question));
  expect(withoutFilters(question)).toEqual(questionOf("q=goal"));
});

test("the gateway is asked for whole days of whoever looks", () => {
  const { query, sort, filters } = variablesOf(questionOf(FULL));
  expect([query, sort]).toEqual(['saka "full time"', "RECENCY"]);
  expect(filters).toEqual({
    where: null,
    entities: ["score"],
    languages: ["eng"],
    minConfidence: 0.8,
    after: new Date(2026, 2, 1).toISOString(),
    before: new Date(2026, 3, 1).toISOString(),
    match: "final",
    team: "Man Utd",
    player: "saka",
  });
  expect(variablesOf(questionOf("q=x&lang=eng,deu")).filters).toMatchObject({ languages: ["eng", "deu"], after: null });
});

test("where a text stands is chosen by name", () => {
  expect(variablesOf(questionOf("q=x&where=title")).filters.where).toEqual(["TITLE"]);
  expect(questionOf("q=x&where=nowhere").filters).toEqual({});
});

test.each([
  ["q=x", null],
  ["q=x&where=title", "TITLE"],
  ["q=where:match x", "MATCH"],
  ["q=x WHERE:Match", "MATCH"],
  ["q=x where:match&where=match", "MATCH"],
  ["q=x where:match&where=title", null],
  ["q=x where:title where:match", null],
  ["q=nowhere:match", null],
] as const)("%s asks for the place %s", (address, place) => expect(placeOf(questionOf(address))).toBe(place));

test.each([
  ["q=x", "TITLE", "/search?q=x&where=title"],
  ["q=x&where=title", null, "/search?q=x"],
  ["q=where:match x", "PICTURE", "/search?q=x&where=picture"],
  ["q=a where:match b", null, "/search?q=a+b"],
] as const)("a place chosen replaces the one that %s names", (address, place, path) => {
  expect(searchPath(withPlace(questionOf(address), place))).toBe(path);
});
