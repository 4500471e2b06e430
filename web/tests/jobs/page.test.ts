import { expect, test } from "vitest";
import type { JobActsFieldsFragment, JobSelection } from "../../src/api/generated";
import { actOn, refusal } from "../../src/jobs/acts";
import { filtersOf, jobsPath } from "../../src/jobs/filters";
import { choicesFor } from "../../src/jobs/priorities";
import { formatSpan } from "../../src/kernel/format";
import { createRefresh } from "../../src/kernel/refresh";
import { chartOf, isQuiet } from "../../src/jobs/series";
import {
  actorWords,
  alertWords,
  failedCount,
  historyWords,
  jobState,
  listTitle,
  nameOf,
  retryWords,
  stateOf,
  summaryWords,
  timeLeft,
  typeWords,
} from "../../src/jobs/words";
import { ProblemError } from "../../src/kernel/problem";
import { depth, job } from "../support/jobs";
import { FakeTime, settle } from "../support/time";

// --- filters in the address

test.each([
  ["", { status: null, jobType: null, cause: null }],
  ["?status=failed&type=ocr&cause=NotAVideo", { status: "failed", jobType: "ocr", cause: "NotAVideo" }],
  ["?status=queued&cause=NotAVideo", { status: "queued", jobType: null, cause: null }],
  ["?status=mowing&type=<b>", { status: null, jobType: null, cause: null }],
])("%j", (search, filters) => expect(filtersOf(search)).toEqual(filters));

test("an address is read as it was written", () => {
  const filters = { status: "failed", jobType: "segment_index", cause: "OriginalMissing" } as const;
  expect(filtersOf(jobsPath(filters).replace("/jobs", ""))).toEqual(filters);
  expect(jobsPath({})).toBe("/jobs");
});

// --- the chart

const sample = (sampledAt: string, queued: number) => ({ sampledAt, queued, processing: 0, oldestSeconds: 1.5 });

test("a chart has a value at every step, and none where nothing was sampled", () => {
  const given = depth([sample("2026-05-01T12:01:00Z", 7), sample("2026-05-01T12:06:30Z", 4)]);
  const { times, lines } = chartOf(given, "queued");
  expect(times).toHaveLength(6);
  expect(lines).toEqual([{ jobType: "ocr", values: [7, 0, 0, 0, 0, 4], last: 4 }]);
  expect(chartOf(given, "oldestSeconds").lines[0]?.values).toEqual([1.5, 0, 0, 0, 0, 1.5]);
  expect(isQuiet(chartOf(given, "queued"))).toBe(false);
  expect(isQuiet(chartOf(given, "processing"))).toBe(true);
});

test("one step that was missed is no empty queue", () => {
  const given = depth([
    sample("2026-05-01T12:02:00Z", 6),
    sample("2026-05-01T12:04:00Z", 2),
    sample("2026-05-01T12:06:30Z", 4),
  ]);
  expect(chartOf(given, "queued").lines[0]?.values).toEqual([0, 6, 4, 2, 3, 4]);
});

test("a sample from before the chart is left out", () => {
  const given = depth([{ sampledAt: "2026-05-01T11:59:00Z", queued: 9, processing: 0, oldestSeconds: 0 }]);
  expect(isQuiet(chartOf(given, "queued"))).toBe(true);
});

// --- acts

function answer(jobs: number, next: string | null): JobActsFieldsFragment {
  return { __typename: "JobActs", jobs: Array.from({ length: jobs }, () => ({ id: "j" })), refused: [], next };
}

test("a cause with many jobs is acted on until none is left", async () => {
  const sent: JobSelection[] = [];
  const answers = [answer(200, "x"), answer(3, null)];
  const outcome = await actOn({ cause: { jobType: "ocr", errorType: "Broken" } }, (selection) => {
    sent.push(selection);
    return Promise.resolve(answers.shift() ?? answer(0, null));
  });
  expect(outcome.changed).toBe(203);
  expect(sent.map(({ after }) => after)).toEqual([null, "x"]);
});

test("a refusal of the whole act is a problem", async () => {
  const refused = { __typename: "AuthError", code: "forbidden", message: "no", hint: "" } as const;
  await expect(actOn({ ids: ["j"] }, () => Promise.resolve(refused))).rejects.toThrow(ProblemError);
});

test("refusals of single jobs are told once", () => {
  const one = { code: "conflict", message: "it runs", hint: "wait" };
  expect(refusal([])).toBeNull();
  expect(refusal([one])).toEqual(one);
  expect(refusal([one, one])?.message).toBe("2 were refused. The first reason: it runs");
});

// --- words

test.each([
  ["transcode", "Convert"],
  ["mow", "mow"],
])("%s is %s", (type, words) => expect(typeWords(type)).toBe(words));

test("states and times left", () => {
  expect(jobState(job({ progressPercent: 30 }))).toEqual({ label: "Running", tone: "busy", progress: { percent: 30 } });
  expect(jobState(job({ status: "failed", error: { type: "Cancelled", message: "" } })).label).toBe("Cancelled");
  expect(timeLeft(job({ estimate: { leftMs: 42_000, at: 0 } }), 1000)).toBe("45 s left");
  expect(timeLeft(job(), 0)).toBe("");
  expect(retryWords(job({ status: "queued", retryCount: 2 }))).toBe("Waits for retry 2 of 3");
  expect(retryWords(job())).toBe("");
});

const CLIP = { title: "A goal", playbackId: "clipclipclipclip" };

test.each([
  ["a video", {}, "Convert: A match"],
  ["a clip that is converted", { vod: null, clip: CLIP }, "Convert: A goal"],
  ["a clip that is cut", { jobType: "clip_generate", clip: CLIP }, "Cut clip: A goal"],
  ["a clip that was deleted", { jobType: "clip_generate" }, "Cut clip: a deleted clip of A match"],
  ["a clip and its video, both deleted", { jobType: "clip_generate", vod: null }, "Cut clip: a deleted clip"],
  ["a video that was deleted", { vod: null }, "Convert: a deleted video"],
])("a job of %s is named for it", (_, given, name) => expect(nameOf(job(given))).toBe(name));

test("a stage that somebody ended did not fail", () => {
  const stage = { status: "failed", progressPercent: null, errorType: "Cancelled", errorMessage: "cancelled by anna" };
  expect(stateOf(stage).label).toBe("Cancelled");
  expect(stateOf({ ...stage, errorType: "NotAVideo" }).label).toBe("Failed");
});

test.each([
  ["transcode job 7 failed: Cancelled: cancelled by anna", "Cancelled"],
  ["transcode job 7 failed: NotAVideo: no", "Failed"],
])("what waited for a job shares its end: %s", (message, label) => {
  expect(jobState(job({ status: "failed", error: { type: "ParentFailed", message } })).label).toBe(label);
  expect(historyWords("queued", "failed", `ParentFailed: ${message}`)).toBe(`Waiting → ${label}`);
});

test("cancelled jobs are not counted as failed", () => {
  const [none, many] = [{ totalCount: 0 }, { totalCount: 12_345 }];
  const counts = { processing: none, queued: { totalCount: 2 }, failed: { totalCount: 3 }, cancelled: none };
  expect(summaryWords(counts)).toBe("0 running · 2 waiting · 3 failed");
  expect(summaryWords({ ...counts, cancelled: { totalCount: 1 } })).toBe(
    "0 running · 2 waiting · 2 failed · 1 cancelled",
  );
  expect(failedCount({ failed: none, cancelled: { totalCount: 1 } })).toBe(0); // counted a moment apart
  expect(summaryWords({ ...counts, queued: many })).toContain("10,000 or more waiting");
});

test.each([
  ["queued", null, "Waiting jobs"],
  ["failed", null, "Failed and cancelled jobs"],
  ["failed", "Cancelled", "Cancelled jobs"],
  ["failed", "NotAVideo", "Failed jobs"],
] as const)("the list of %s jobs, by %s", (status, cause, title) => expect(listTitle(status, cause)).toBe(title));

test.each([
  ["cli", "the command line"],
  ["touchline_worker", "Touchline"],
  ["a user anna@north.example", "a user anna@north.example"],
])("%s did it", (actor, words) => expect(actorWords(actor)).toBe(words));

test.each([
  ["failure_rate", 0.5, 0.25, "Read text: 50% of the last hour's jobs failed (limit 25%)"],
  ["queue_age", 5400, 1800, "Read text: the oldest job has waited for 1:30 h (limit 30 min)"],
  ["dead_letters", 101, 100, "Read text: 101 jobs failed permanently within a week (limit 100)"],
  ["new", 1, 0, "Read text: new"],
])("%s", (kind, value, threshold, words) =>
  expect(alertWords({ kind, jobType: "ocr", value, threshold, changedAt: "" })).toBe(words),
);

test("spans and steps", () => {
  expect([0, 59, 90, 3600].map(formatSpan)).toEqual(["0 s", "59 s", "2 min", "1:00 h"]);
  expect(historyWords(null, "queued", null)).toBe("Enqueued");
  expect(historyWords("queued", "queued", "priority 5, was 0")).toBe("Priority changed");
  expect(historyWords("failed", "queued", "retried by hand")).toBe("Failed → Waiting");
  expect(historyWords("processing", "failed", "NotAVideo: no")).toBe("Running → Failed");
  expect(historyWords("processing", "failed", "Cancelled: cancelled by anna")).toBe("Running → Cancelled");
});

// --- priorities

test("only operators may put a job before those of all tenants", () => {
  const priorities = (...given: Parameters<typeof choicesFor>) => choicesFor(...given).map(({ priority }) => priority);
  expect(priorities("editor", 0)).toEqual([0, -10, -100]);
  expect(priorities("operator", 0)).toEqual([100, 10, 0, -10, -100]);
  expect(priorities("admin", 7)).toEqual([7, 0, -10, -100]);
});

// --- reading again

test("many wishes are one reading, and one more for those that came while it read", async () => {
  const time = new FakeTime();
  let reads = 0;
  let finish: () => void = () => undefined;
  const read = () => {
    reads += 1;
    return new Promise<void>((resolve) => (finish = resolve));
  };
  const refresh = createRefresh({ read, wait: time.wait, ends: new AbortController().signal });
  refresh();
  refresh();
  await settle();
  expect(reads).toBe(1);
  refresh();
  refresh();
  finish();
  await settle();
  expect(reads).toBe(2);
  finish();
  await settle();
  expect(reads).toBe(2);
  refresh();
  await settle();
  expect(reads).toBe(3);
});

test("a reading that fails does not end it", async () => {
  let reads = 0;
  const read = () => {
    reads += 1;
    return Promise.reject(new Error("away"));
  };
  const refresh = createRefresh({ read, wait: new FakeTime().wait, ends: new AbortController().signal });
  refresh();
  await settle();
  refresh();
  await settle();
  expect(reads).toBe(2);
});
