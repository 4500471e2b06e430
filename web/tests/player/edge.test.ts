import { expect, test } from "vitest";
import { behindLive, behindSpoken, behindWords, edgeOf, isAtEdge } from "../../src/player/edge";
import { problemWith } from "../../src/player/problems";

const WINDOW = { from: 100, to: 400 };

test.each([
  { seconds: 398, behind: 2, atEdge: true, words: "2 s behind", spoken: "Live" },
  { seconds: 391, behind: 9, atEdge: false, words: "9 s behind", spoken: "9 seconds behind live" },
  { seconds: 300, behind: 100, atEdge: false, words: "1:40 behind", spoken: "1 minute 40 seconds behind live" },
  { seconds: 401, behind: 0, atEdge: true, words: "0 s behind", spoken: "Live" },
])("at $seconds of a window that ends at 400", ({ seconds, behind, atEdge, words, spoken }) => {
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
