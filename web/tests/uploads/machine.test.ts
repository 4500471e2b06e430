import { describe, expect, test } from "vitest";
import { UNREACHABLE } from "../../src/kernel/problem";
import {
  advance,
  canCancel,
  canRetry,
  isUnderWay,
  newUpload,
  startable,
  type Phase,
  type Step,
  type Upload,
} from "../../src/uploads/machine";

const fresh = newUpload("1", { name: "match.mp4", size: 100 });
const failed: Step = { kind: "failed", problem: UNREACHABLE };
const progressed: Step = { kind: "progressed", sentBytes: 40, bytesPerSecond: 10 };
const through = (...steps: readonly Step[]): Upload => steps.reduce(advance, fresh);
const inPhase = (phase: Phase): Upload => ({ ...fresh, phase });

test("the straight way", () => {
  const done = through(
    { kind: "started" },
    { kind: "registered", artifactHash: "a", playbackId: "p" },
    progressed,
    { kind: "sent" },
    { kind: "completed", playbackId: "p" },
  );
  expect(done).toMatchObject({ phase: "done", sentBytes: 100, artifactHash: "a", playbackId: "p" });
});

test("a failed one waits for its turn again and keeps what it knows", () => {
  const again = through({ kind: "started" }, { kind: "registered", artifactHash: "a", playbackId: null }, failed);
  expect(again).toMatchObject({ phase: "failed", problem: UNREACHABLE });
  expect(advance(again, { kind: "queued" })).toMatchObject({ phase: "waiting", problem: null, artifactHash: "a" });
});

describe("reports that come too late change nothing", () => {
  const late: readonly [Phase, Step][] = [
    ["cancelling", progressed],
    ["cancelling", { kind: "completed", playbackId: "p" }],
    ["cancelling", failed],
    ["failed", progressed],
    ["done", failed],
    ["done", { kind: "cancelled" }],
    ["finishing", { kind: "cancelled" }],
    ["waiting", progressed],
    ["sending", { kind: "started" }],
    ["sending", { kind: "queued" }],
  ];
  test.each(late)("%s, %o", (phase, step) => {
    const upload = inPhase(phase);
    expect(advance(upload, step)).toBe(upload);
  });
});

test("a part that the server misses is sent again", () => {
  expect(advance(inPhase("finishing"), progressed)).toMatchObject({ phase: "sending", sentBytes: 40 });
});

test("turns go by order, and only as many as may run", () => {
  const queue = (["done", "sending", "waiting", "failed", "waiting"] as const).map((phase, index) => ({
    ...inPhase(phase),
    id: String(index),
  }));
  expect(startable(queue, 2).map(({ id }) => id)).toEqual(["2"]);
  expect(startable(queue, 3).map(({ id }) => id)).toEqual(["2", "4"]);
  expect(startable(queue, 1)).toEqual([]);
});

test("wrong input is not tried again", () => {
  const wrong = { ...inPhase("failed"), problem: { ...UNREACHABLE, code: "invalid_input" } };
  expect(canRetry(wrong)).toBe(false);
  expect(canRetry({ ...wrong, problem: UNREACHABLE })).toBe(true);
  expect(canRetry(inPhase("sending"))).toBe(false);
});

test("what can be cancelled, and what leaving the page would interrupt", () => {
  const phases = ["waiting", "preparing", "sending", "finishing", "done", "failed", "interrupted"] as const;
  const which = (holds: (upload: Upload) => boolean) => phases.filter((phase) => holds(inPhase(phase)));
  expect(which(canCancel)).toEqual(["waiting", "preparing", "sending", "failed", "interrupted"]);
  expect(which(isUnderWay)).toEqual(["waiting", "preparing", "sending", "finishing"]);
});
