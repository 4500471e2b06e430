import { expect, test } from "vitest";
import { shortcutFor, type Focus } from "../../src/player/shortcuts";
import { stateOf } from "../../src/player/watch";

const press = (key: string, focus: Focus = "page", hasModifier = false) => shortcutFor({ key, focus, hasModifier });

test.each([
  [" ", { kind: "toggle" }],
  ["k", { kind: "toggle" }],
  ["K", { kind: "toggle" }],
  ["j", { kind: "seek", seconds: -10 }],
  ["l", { kind: "seek", seconds: 10 }],
  ["ArrowLeft", { kind: "seek", seconds: -5 }],
  ["ArrowRight", { kind: "seek", seconds: 5 }],
  ["ArrowUp", { kind: "volume", change: 0.1 }],
  ["m", { kind: "mute" }],
  ["c", { kind: "captions" }],
  ["f", { kind: "fullscreen" }],
  ["x", null],
  ["constructor", null],
])("%j", (key, shortcut) => expect(press(key)).toEqual(shortcut));

test("a field keeps its keys, a button its space, a slider its arrows", () => {
  expect(press("k", "field")).toBeNull();
  expect(press(" ", "button")).toBeNull();
  expect(press("k", "button")).toEqual({ kind: "toggle" });
  expect(press("ArrowLeft", "slider")).toBeNull();
  expect(press(" ", "slider")).toEqual({ kind: "toggle" });
});

test("keys of the browser stay the browser's", () => expect(press("f", "page", true)).toBeNull());

test.each([
  ["not_found", "missing"],
  ["conflict", "not-ready"],
  ["unavailable", "failed"],
])("%s shows as %s", (code, kind) => expect(stateOf({ code, message: "", hint: "" }, null).kind).toBe(kind));
