import { expect, test } from "vitest";
import type { Focus } from "../../src/player/shortcuts";
import { boxKey, moved, searchKey } from "../../src/search/keys";

const press = (key: string, focus: Focus = "page", hasModifier = false) => searchKey({ key, focus, hasModifier });

test.each([
  ["/", { kind: "box" }],
  ["ArrowDown", { kind: "move", by: 1 }],
  ["ArrowUp", { kind: "move", by: -1 }],
  ["Enter", { kind: "play" }],
  ["c", { kind: "clip" }],
  ["x", null],
  ["constructor", null],
])("%j", (key, meaning) => expect(press(key)).toEqual(meaning));

test("a field keeps all its keys, a link and a button their Enter, the browser its own", () => {
  for (const key of ["/", "ArrowDown", "Enter", "c"]) {
    expect(press(key, "field")).toBeNull();
    expect(press(key, "page", true)).toBeNull();
  }
  expect(press("Enter", "button")).toBeNull();
  expect(press("c", "button")).toEqual({ kind: "clip" });
  expect(press("ArrowDown", "button")).toEqual({ kind: "move", by: 1 });
});

test.each([
  [null, 1, 3, 0],
  [null, -1, 3, null],
  [null, 1, 0, null],
  [0, 1, 3, 1],
  [2, 1, 3, 2],
  [1, -1, 3, 0],
  [0, -1, 3, null],
] as const)("from %j by %i of %i to %j", (selected, by, count, next) => expect(moved(selected, by, count)).toBe(next));

const OPEN = { options: ["goal", "goals"], open: true, active: null };

test("arrows go round the offers and what was typed", () => {
  const walk = (key: string, from: number | null) => boxKey(key, { ...OPEN, active: from });
  expect(walk("ArrowDown", null)).toEqual({ kind: "activate", option: 0 });
  expect(walk("ArrowDown", 1)).toEqual({ kind: "activate", option: null });
  expect(walk("ArrowUp", null)).toEqual({ kind: "activate", option: 1 });
  expect(walk("ArrowUp", 0)).toEqual({ kind: "activate", option: null });
});

test("Enter takes the offer, or is the field's own", () => {
  expect(boxKey("Enter", { ...OPEN, active: 1 })).toEqual({ kind: "choose", text: "goals" });
  expect(boxKey("Enter", OPEN)).toBeNull();
  expect(boxKey("Escape", OPEN)).toEqual({ kind: "close" });
  expect(boxKey("a", { ...OPEN, active: 1 })).toBeNull();
});

test("without offers, down leads out of the field", () => {
  for (const state of [
    { ...OPEN, open: false },
    { ...OPEN, options: [] },
  ]) {
    expect(boxKey("ArrowDown", state)).toEqual({ kind: "leave" });
    expect(boxKey("Escape", state)).toBeNull();
    expect(boxKey("ArrowUp", state)).toBeNull();
  }
});
