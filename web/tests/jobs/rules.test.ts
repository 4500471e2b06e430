import { expect, test } from "vitest";
import { applyChange, applyStage, canCancel, canRetry, jobOf, leftOf, newer, remainingMs } from "../../src/jobs/rules";
import type { JobChange } from "../../src/jobs/model";
import { change, job, progress } from "../support/jobs";

const told = (given: JobChange, occurredAt = "2026-05-01T12:00:10Z") => ({ change: given, occurredAt, now: 5000 });

test.each([
  [null, 60_000, null],
  [0, 60_000, null],
  [50, 0, null],
  [50, -1, null],
  [25, 10_000, 30_000],
  [50, 60_000, 60_000],
  [100, 60_000, 0],
])("%j %% after %d ms", (percent, elapsed, left) => expect(remainingMs(percent, elapsed)).toBe(left));

test("progress moves a job that runs and says how long it takes", () => {
  const next = applyChange(job(), told(progress(20)));
  expect(next).toMatchObject({ progressPercent: 20, revision: 2, estimate: { leftMs: 40_000, at: 5000 } });
  expect(leftOf(next.estimate, 15_000)).toBe(30_000);
  expect(leftOf(next.estimate, 99_000)).toBe(0);
});

test.each([
  ["it goes back", job({ progressPercent: 30 }), progress(20)],
  ["another attempt made it", job({ attempt: 2 }), progress(20)],
  ["it has ended", job({ status: "done" }), progress(20)],
  ["it is about another job", job(), progress(20, { jobId: "k" })],
  ["it is older than what is known", job({ revision: 9 }), change({ status: "failed", revision: 8 })],
])("nothing changes when %s", (_, known, given) => expect(applyChange(known, told(given))).toBe(known));

test("a failure is shown with its error and no estimate", () => {
  const known = job({ progressPercent: 40, estimate: { leftMs: 1000, at: 0 } });
  const next = applyChange(
    known,
    told(change({ status: "failed", progressPercent: 40, errorType: "NotAVideo", errorMessage: "no" })),
  );
  expect(next).toMatchObject({
    status: "failed",
    error: { type: "NotAVideo", message: "no" },
    finishedAt: "2026-05-01T12:00:10Z",
    estimate: null,
    revision: 3,
  });
});

test("what is claimed begins anew and keeps its last error", () => {
  const waiting = job({ status: "queued", error: { type: "Unavailable", message: "away" }, startedAt: null });
  const next = applyChange(waiting, told(change({ attempt: 2 })));
  expect(next).toMatchObject({
    status: "processing",
    startedAt: "2026-05-01T12:00:10Z",
    error: { type: "Unavailable" },
  });
});

test("an event that came before the list is not undone by it", () => {
  const known = job({ revision: 4, status: "failed" });
  expect(newer(known, job({ revision: 3 }))).toBe(known);
  expect(newer(known, job({ revision: 5 })).revision).toBe(5);
  const further = job({ progressPercent: 50 });
  expect(newer(further, job({ progressPercent: 40 }))).toBe(further);
  expect(newer(undefined, further)).toBe(further);
});

test("what was read carries its estimate from the moment of reading", () => {
  expect(jobOf(job({ etaSeconds: 12 }), 7)).toMatchObject({ estimate: { leftMs: 12_000, at: 7 } });
  expect(jobOf(job(), 7).estimate).toBeNull();
});

test.each([
  ["queued", null, { cancel: true, retry: false }],
  ["processing", null, { cancel: true, retry: false }],
  ["done", null, { cancel: false, retry: false }],
  ["failed", "NotAVideo", { cancel: false, retry: true }],
  ["failed", "Cancelled", { cancel: false, retry: true }],
  ["failed", "ParentFailed", { cancel: false, retry: false }],
])("%s %s", (status, type, may) => {
  const one = job({ status, error: type === null ? null : { type, message: "" } });
  expect({ cancel: canCancel(one), retry: canRetry(one) }).toEqual(may);
});

test("a stage of a video moves at once, though not back to an older attempt", () => {
  const none = { progressPercent: null, errorType: null, errorMessage: null };
  const stage = { jobType: "ocr", jobId: "j", status: "queued", attempt: 2, ...none };
  const video = { status: "playable", isPlayable: true, isSearchable: false, stages: [stage] };
  const moved = applyStage(video, progress(30, { jobType: "ocr", attempt: 3 }));
  expect(moved.stages).toEqual([{ ...stage, status: "processing", progressPercent: 30, attempt: 3 }]);
  expect(applyStage(video, progress(30, { jobType: "ocr", attempt: 1 })).stages).toEqual([stage]);
  expect(applyStage(video, progress(30, { jobType: "transcode" })).stages).toEqual([stage]);
});
