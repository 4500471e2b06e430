import { expect, test } from "vitest";
import { hit } from "../support/hits";
import {
  correctionText,
  countText,
  filterText,
  placeCountText,
  formatMoment,
  foundIn,
  languageName,
  percentName,
  shownFor,
} from "../../src/search/words";

test.each([
  [["chelsea"], "No results for “chelsae”; showing results for “chelsea”."],
  [["chelsea", "chelse"], "No results for “chelsae”; showing results for “chelsea” or “chelse”."],
  [["a", "b", "c", "d", "e"], "No results for “chelsae”; showing results for “a”, “b”, “c”, “d”, or others like it."],
])("%j", (readAs, text) => expect(correctionText({ word: "chelsae", readAs })).toBe(text));

test.each([
  [0, true, "No results"],
  [1, true, "1 result"],
  [20, false, "20 results so far"],
])("%i, all of them: %j", (count, complete, text) => expect(countText(count, complete)).toBe(text));

test.each([
  ["min", "0.95", "Confidence at least 95%"],
  ["min", "0.29", "Confidence at least 29%"],
  ["lang", "eng,deu", "English or German"],
  ["entity", "score", "A score"],
  ["entity", "hashtag:coyg", "hashtag:coyg"],
  ["team", "Man Utd", "Team: Man Utd"],
] as const)("%s=%s", (name, value, text) => expect(filterText(name, value)).toBe(text));

test.each([
  ["eng", "English"],
  ["chi_sim", "chi_sim"],
  ["", ""],
  ["not a language", "not a language"],
])("%j is %j", (code, name) => expect(languageName(code)).toBe(name));

test("nothing is surer than it is", () => expect(percentName(0.999)).toBe("99%"));

test.each([
  [1000, 3500, "2.5 s"],
  [0, 9949, "9.9 s"],
  [0, 42_400, "42 s"],
  [0, 65_000, "1:05"],
])("from %i to %i: %s", (start, end, text) => expect(shownFor(start, end)).toBe(text));

test.each([
  [0, "0:00.0"],
  [62_990, "1:02.9"],
  [3_600_000, "1:00:00.0"],
])("%i ms is %s", (time, text) => expect(formatMoment(time)).toBe(text));

test.each([
  [hit("1"), ["on screen for 2.5 s", "97% confidence"]],
  [hit("1", { where: "TITLE", box: null }), ["in the title"]],
  [hit("1", { where: "MATCH", box: null }), ["in the match facts"]],
])("a result says where it was found", (found, words) => expect(foundIn(found)).toEqual(words));

test("a count that stopped says so", () => {
  expect(placeCountText({ count: 12, hasMore: false })).toBe("12");
  expect(placeCountText({ count: 999, hasMore: true })).toBe("999+");
});
