import { expect, test } from "vitest";
import { failureOf } from "../../src/player/source";

test.each([
  [200, null],
  [206, null],
  [0, null],
  [401, "expired"],
  [403, "expired"],
  [404, "missing"],
  [410, "gone"],
  [500, "unreadable"],
  [503, "unreadable"],
])("the answer %i means %s", (status, failure) => {
  expect(failureOf(status)).toBe(failure);
});
