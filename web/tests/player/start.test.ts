import { expect, test } from "vitest";
import { startSeconds } from "../../src/player/start";

test.each([
  [0, 5000, 0],
  [1234, 5000, 1.234],
  [4999, 5000, 4.999],
  [5000, 5000, 0],
  [90_000, 5000, 0],
  [1234, null, 1.234],
])("%i ms of %j", (startMs, durationMs, seconds) => expect(startSeconds(startMs, durationMs)).toBe(seconds));
