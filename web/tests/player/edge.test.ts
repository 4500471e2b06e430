import { expect, test } from "vitest";
import { behindLive, behindSpoken, behindWords, edgeOf, isAtEdge } from "../../src/player/edge";
import { problemWith } from "../../src/player/problems";

const WINDOW = { from: 100, to: 400 };

test.each([
  [398, 2, true, "2 s behind", "Live"],
  [391, 9, false, "9 s behind", "9 seconds behind live"],
  [300, 100, false, "1:40 behind", "1 minute 40 seconds behind live"],
  [401, 0, true, "0 s behind", "Live"],
])("at %d of a window that ends at 400", (seconds, behind, atEdge, words, spoken) => {
  expect(behindLive(WINDOW, seconds)).toBe(behind);
  expect(isAtEdge(behind)).toBe(atEdge);
  expect(behindWords(behind)).toBe(words);
  expect(behindSpoken(behind)).toBe(spoken);
});

test("what happens now is played a little before the end, and never before the window", () => {
  expect(edgeOf(WINDOW)).toBe(398);
  expect(edgeOf({ from: 10, to: 11 })).toBe(10);
});

test("no file of a live stream is said to be lost", () => {
  expect(problemWith("missing", true).message).toBe("This stream cannot be played now");
  expect(problemWith("missing", false).message).toBe("The file of this video is missing");
  expect(problemWith("network", true)).toEqual(problemWith("network", false));
});
