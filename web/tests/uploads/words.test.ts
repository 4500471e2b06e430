import { expect, test } from "vitest";
import { newUpload, type Phase, type Upload } from "../../src/uploads/machine";
import { barOf, progressWords, summaryWords, totalPercent } from "../../src/uploads/words";

const upload = (phase: Phase, given: Partial<Upload> = {}): Upload => ({
  ...newUpload("1", { name: "match.mp4", size: 100_000_000 }),
  phase,
  ...given,
});

test("an upload says how far it is, and how long it takes once that is known", () => {
  const sending = upload("sending", { sentBytes: 40_000_000 });
  expect(progressWords(sending)).toBe("40 MB of 100 MB");
  expect(progressWords({ ...sending, bytesPerSecond: 2_000_000 })).toBe("40 MB of 100 MB · 2.0 MB/s · 30 s left");
  expect(progressWords({ ...sending, bytesPerSecond: 0 })).toBe("40 MB of 100 MB");
});

test("an interrupted one says what to do", () => {
  expect(progressWords(upload("interrupted"))).toContain("Choose the same file again");
});

test("a bar has a figure only while bytes are counted", () => {
  expect(barOf(upload("sending", { sentBytes: 50_000_000 }))).toEqual({ percent: 50 });
  expect(barOf(upload("finishing"))).toEqual({ percent: null });
  expect(barOf(upload("done"))).toBeNull();
});

test.each([
  [["sending", "waiting", "failed"], "Uploading 2 files"],
  [["done", "failed"], "1 upload failed"],
  [["interrupted", "done"], "Unfinished uploads"],
  [["done"], "1 file uploaded"],
] as const)("%o: %s", (phases, words) => expect(summaryWords(phases.map((phase) => upload(phase)))).toBe(words));

test("the whole counts what is on its way", () => {
  const queue = [upload("sending", { sentBytes: 50_000_000 }), upload("waiting"), upload("done")];
  expect(totalPercent(queue)).toBe(25);
});
