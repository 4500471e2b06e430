import { expect, test } from "vitest";
import { withRetries } from "../../src/kernel/retry";
import { ProblemError, UNREACHABLE } from "../../src/kernel/problem";
import { delayBefore, wait } from "../../src/kernel/waiting";
import { FakeTime } from "../support/time";

const BACKOFF = { firstMs: 100, mostMs: 1000 };

test("delays double up to the most, and half of each is left to chance", () => {
  expect([1, 2, 3, 4, 5, 99].map((attempt) => delayBefore(attempt, BACKOFF, () => 1))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
  expect(delayBefore(3, BACKOFF, () => 0)).toBe(200);
});

test("waiting ends at once with the reason to stop", async () => {
  const stop = new AbortController();
  const waiting = wait(60_000, stop.signal);
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(wait(1, stop.signal)).rejects.toThrow("enough");
});

function failing(times: number, code: string, retryAfterSeconds: number | null = null) {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= times) return Promise.reject(new ProblemError({ ...UNREACHABLE, code, retryAfterSeconds }));
    return Promise.resolve(calls);
  };
}

test("a passing failure is repeated, with longer and longer pauses", async () => {
  const time = new FakeTime();
  await expect(withRetries(failing(3, "unavailable"), time.retryPolicy)).resolves.toBe(4);
  expect(time.waits).toEqual([100, 200, 400]);
});

test("not for ever", async () => {
  const time = new FakeTime();
  await expect(withRetries(failing(9, "unavailable"), time.retryPolicy)).rejects.toThrow("cannot be reached");
  expect(time.waits).toHaveLength(3);
});

test("a wrong request is not repeated", async () => {
  const time = new FakeTime();
  await expect(withRetries(failing(1, "invalid_input"), time.retryPolicy)).rejects.toThrow();
  expect(time.waits).toEqual([]);
});

test("a server that says when is not asked earlier", async () => {
  const time = new FakeTime();
  await withRetries(failing(1, "rate_limited", 7), time.retryPolicy);
  expect(time.waits).toEqual([7000]);
});
