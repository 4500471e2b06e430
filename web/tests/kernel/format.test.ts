import { describe, expect, test } from "vitest";
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatTimeLeft,
  formatUntil,
  percentOf,
  plural,
  speakDuration,
} from "../../src/kernel/format";

describe("bytes", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [9940, "9.9 kB"],
    [9960, "10 kB"],
    [999_499, "999 kB"],
    [999_600, "1.0 MB"],
    [1_370_000_000, "1.4 GB"],
    [5e18, "5000 PB"],
  ])("%d is %s", (bytes, said) => expect(formatBytes(bytes)).toBe(said));
});

describe("durations", () => {
  test.each([
    [0, "0:00"],
    [-5, "0:00"],
    [7_900, "0:07"],
    [754_000, "12:34"],
    [3_723_000, "1:02:03"],
  ])("%d ms is %s", (milliseconds, said) => expect(formatDuration(milliseconds)).toBe(said));

  test.each([
    [0, "0 seconds"],
    [61_000, "1 minute 1 second"],
    [7_200_000, "2 hours"],
  ])("%d ms is said as %s", (milliseconds, said) => expect(speakDuration(milliseconds)).toBe(said));
});

describe("ages", () => {
  const now = Date.parse("2026-05-10T12:00:00Z");
  test.each([
    ["2026-05-10T12:00:05Z", "just now"],
    ["2026-05-10T11:59:30Z", "just now"],
    ["2026-05-10T11:55:00Z", "5 minutes ago"],
    ["2026-05-10T10:59:00Z", "1 hour ago"],
    ["2026-05-09T11:00:00Z", "yesterday"],
    ["2026-05-05T12:00:00Z", "5 days ago"],
    ["2026-04-01T12:00:00Z", "1 Apr 2026"],
  ])("%s is %s", (then, said) => expect(formatAge(then, now)).toBe(said));

  test.each([
    ["2026-05-10T12:10:00Z", "within the hour"],
    ["2026-05-10T15:30:00Z", "in 3 hours"],
    ["2026-05-30T12:00:00Z", "in 20 days"],
  ])("%s ends %s", (then, said) => expect(formatUntil(then, now)).toBe(said));
});

test.each([
  [1_000, "a few seconds left"],
  [31_000, "35 s left"],
  [61_000, "2 min left"],
  [4_000_000, "2 h left"],
])("%d ms: %s", (milliseconds, said) => expect(formatTimeLeft(milliseconds)).toBe(said));

test("a percentage is 100 only when all is there", () => {
  expect(percentOf(999, 1000)).toBe(99);
  expect(percentOf(1000, 1000)).toBe(100);
  expect(percentOf(5, 0)).toBe(0);
});

test("one is not many", () => {
  expect(plural(1, "video")).toBe("1 video");
  expect(plural(1234, "video")).toBe("1,234 videos");
});
