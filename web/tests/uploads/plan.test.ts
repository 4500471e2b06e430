import { expect, test } from "vitest";
import { partsToSend, Progress, rangeOf } from "../../src/uploads/plan";
import { Rate } from "../../src/uploads/rate";

const plan = { sizeBytes: 25, partSizeBytes: 10, partCount: 3 };

test("parts lie side by side and the last one ends with the file", () => {
  expect([1, 2, 3].map((number) => rangeOf(plan, number))).toEqual([
    { start: 0, end: 10 },
    { start: 10, end: 20 },
    { start: 20, end: 25 },
  ]);
});

test("what has not arrived, or has arrived otherwise, is to be sent, in order", () => {
  const arrived = new Map([
    [3, "c"],
    [2, "b"],
  ]);
  expect(partsToSend(plan, arrived, new Map())).toEqual([1]);
  expect(partsToSend(plan, arrived, new Map([[2, "b"], [3, "damaged"]]))).toEqual([1, 3]); // prettier-ignore
  expect(partsToSend(plan, new Map([[1, "a"], ...arrived]), new Map([[1, "a"]]))).toEqual([]);
});

test("progress counts whole parts and what is on its way, and takes back what failed", () => {
  const progress = new Progress(plan, [3]);
  expect(progress.sentBytes).toBe(5);
  progress.report(1, 4);
  progress.report(1, 9999); // the browser counts more than the bytes of the part
  expect(progress.sentBytes).toBe(15);
  progress.report(1, 0);
  expect(progress.sentBytes).toBe(5);
});

test("the rate is that of the last seconds", () => {
  const rate = new Rate();
  rate.add(0, 0);
  expect(rate.bytesPerSecond).toBeNull();
  rate.add(2000, 4000);
  expect(rate.bytesPerSecond).toBe(2000);
  rate.add(20_000, 5000);
  expect(rate.bytesPerSecond).toBeNull();
  rate.add(22_000, 6000);
  expect(rate.bytesPerSecond).toBe(500);
});

test("bytes that are taken back do not make the rate negative", () => {
  const rate = new Rate();
  rate.add(0, 9000);
  rate.add(2000, 1000);
  rate.add(4000, 3000);
  expect(rate.bytesPerSecond).toBe(1000);
});
