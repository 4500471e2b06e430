import { expect, test } from "vitest";
import type { Request } from "../../src/api/client";
import { canBeCompleted, createSuggestions } from "../../src/search/suggestions";

test.each([
  ["go", true],
  ["saka go", true],
  ["#co", true],
  ["-wo", true],
  ["g", false],
  ["goal ", false],
  ["goal*", false],
  ["team:ars", false],
  ['"full ti', false],
  ['"full time" ars', true],
  ["", false],
])("%j can be completed: %j", (text, can) => expect(canBeCompleted(text)).toBe(can));

function typing(answers: Record<string, string[]>) {
  const asked: string[] = [];
  const request = ((_document: unknown, { prefix }: { prefix: string }) => {
    asked.push(prefix);
    if (answers[prefix] === undefined) return Promise.reject(new Error("away"));
    return Promise.resolve({ searchSuggestions: answers[prefix].map((text) => ({ text, segments: 1 })) });
  }) as unknown as Request;
  const suggestions = createSuggestions(request, () => Promise.resolve());
  return { asked, suggestions, shown: () => suggestions.shown.value.map(({ text }) => text) };
}

test("only the last of what is typed quickly is asked for", async () => {
  const { asked, suggestions, shown } = typing({ goa: ["goal", "goals"] });
  await Promise.all([suggestions.typed("go"), suggestions.typed("goa")]);
  expect([asked, shown()]).toEqual([["goa"], ["goal", "goals"]]);
});

test("what is written already is no offer, and a failure offers nothing", async () => {
  const { suggestions, shown } = typing({ goal: ["goal", "goals"] });
  await suggestions.typed("goal");
  expect(shown()).toEqual(["goals"]);
  await suggestions.typed("goalkeeper");
  expect(shown()).toEqual([]);
});

test("an answer that comes after the field was left is not shown", async () => {
  const { suggestions, shown } = typing({ goal: ["goals"] });
  const late = suggestions.typed("goal");
  suggestions.clear();
  await late;
  expect(shown()).toEqual([]);
});
