import { expect, test } from "vitest";
import type { Request } from "../../src/api/client";
import type { ToastLink } from "../../src/app/messages";
import { clipOf, createClipping } from "../../src/search/clipping";
import type { Listener } from "../../src/live/feed";
import type { ClipEvent } from "../../src/live/socket";
import { clipEvent } from "../support/clips";
import { hit } from "../support/hits";
import { FakeTime, settle } from "../support/time";

test.each([
  [1000, 3500, 1, 3.5],
  [1000, 1000, 1, 1.001],
  [0, 5_400_000, 0, 60],
])("from %i to %i", (startMs, endMs, startSeconds, endSeconds) =>
  expect(clipOf(hit("1", { startMs, endMs }))).toMatchObject({ startSeconds, endSeconds }),
);

test("a long text is cut between characters", () => {
  expect(clipOf(hit("1", { text: "⚽".repeat(300) })).title).toBe("⚽".repeat(100));
});

/** Answers to createClip and then to each look at it; the last one stays. */
function clipping(...states: readonly (string | null)[]) {
  const time = new FakeTime();
  const told: [string, ToastLink?][] = [];
  const problems: string[] = [];
  const listeners = new Set<Listener<ClipEvent>>();
  let asked = 0;
  const request = (() => {
    const status = states[Math.min(asked, states.length - 1)];
    asked += 1;
    if (status === "away") return Promise.reject(new Error("away"));
    const clip = { artifactHash: "c", playbackId: "abcdefgh01234567", title: "Full time", status, errorMessage: "why" };
    return Promise.resolve({ createClip: { __typename: "Clip", ...clip }, clip });
  }) as unknown as Request;
  const made = createClipping({
    request,
    feed: {
      listen(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    tell: (text, link) => told.push(link === undefined ? [text] : [text, link]),
    tellProblem: ({ message, hint }) => problems.push(`${message}: ${hint}`),
    wait: time.wait,
    random: () => 1,
    ends: new AbortController().signal,
  });
  return { make: () => made.make(hit("1")), told, problems, time, listeners, looks: () => asked - 1 };
}

const READY = ["The clip “Full time” is ready.", { to: "/watch/abcdefgh01234567", label: "Watch it" }];

test("a clip is told when it is asked for and when it is ready", async () => {
  const { make, told, problems } = clipping("requested", null, "away", "processing", "ready");
  await make();
  expect(told).toEqual([["The clip “Full time” is being created."], READY]);
  expect(problems).toEqual([]);
});

test("a clip that is there already is told at once", async () => {
  const { make, told, looks } = clipping("ready");
  await make();
  expect([told, looks()]).toEqual([[READY], 0]);
});

test("a clip that cannot be made says why", async () => {
  const { make, problems } = clipping("requested", "failed");
  await make();
  expect(problems).toEqual(["the clip “Full time” could not be created: why"]);
});

test("nobody is asked for ever", async () => {
  const { make, told, problems, looks, time } = clipping("requested", "processing");
  await make();
  expect([looks(), told.length, problems.length]).toEqual([60, 1, 0]);
  expect(Math.max(...time.waits)).toBe(15_000);
});

test("what was refused is told", async () => {
  const { make, told, problems } = clipping("away");
  await make();
  expect([told.length, problems.length]).toEqual([0, 1]);
});

test.each([
  ["ready", [["The clip “Full time” is being created."], READY], []],
  ["failed", [["The clip “Full time” is being created."]], ["the clip “Full time” could not be created: too dark"]],
])("what is heard of it is not asked for: %s", async (stage, told, problems) => {
  const said = clipping("requested", "processing");
  said.time.hold();
  const making = said.make();
  await settle();
  for (const { onEvent } of said.listeners) {
    onEvent(clipEvent("another", { stage }));
    onEvent(clipEvent("c", { stage: "processing" }));
    onEvent(clipEvent("c", { stage, error: "too dark" }));
  }
  await making;
  expect([said.told, said.problems, said.looks(), said.listeners.size]).toEqual([told, problems, 0, 0]);
});
