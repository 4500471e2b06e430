import { expect, test } from "vitest";
import { ProblemError } from "../../src/kernel/problem";
import { createQuarantine } from "../../src/sessions/quarantined";
import { createReading } from "../../src/sessions/reading";
import { createSessionList } from "../../src/sessions/rows";
import { everything, session } from "../support/sessions";
import { settle } from "../support/time";

/** Time that passes only when the test says so. */
function clock() {
  const ends = new AbortController();
  let pass: () => void = () => undefined;
  let watched = true;
  const wait = () => new Promise<void>((resolve) => (pass = resolve));
  return {
    parts: { wait, isWatched: () => watched, ends: ends.signal },
    tick: async (isWatched = true) => {
      watched = isWatched;
      pass();
      await settle();
    },
  };
}
test("it is read again, but not while nobody looks", async () => {
  const { parts, tick } = clock();
  let asked = 0;
  const reading = createReading(() => Promise.resolve((asked += 1)), parts);
  await settle();
  expect(reading.answer.value).toBe(1);
  await tick(false);
  expect(reading.answer.value).toBe(1);
  await tick();
  expect(reading.answer.value).toBe(2);
});

test("what was read stays when it cannot be read again", async () => {
  const { parts, tick } = clock();
  const answers = [Promise.resolve("read"), Promise.reject(new ProblemError({ code: "x", message: "no", hint: "" }))];
  const reading = createReading(() => answers.shift() ?? Promise.resolve("again"), parts);
  await settle();
  await tick();
  expect([reading.answer.value, reading.problem.value?.code]).toEqual(["read", "x"]);
  await tick();
  expect([reading.answer.value, reading.problem.value]).toEqual(["again", null]);
});

test("an answer that comes after a later one is of no use", async () => {
  const { parts } = clock();
  const waiting: ((answer: string) => void)[] = [];
  const reading = createReading(() => new Promise<string>((resolve) => waiting.push(resolve)), parts);
  void reading.again();
  waiting[1]?.("later");
  waiting[0]?.("first");
  await settle();
  expect(reading.answer.value).toBe("later");
});

function pages(...given: readonly (readonly string[])[]) {
  const asked: unknown[] = [];
  const request = (_: unknown, variables: unknown) => {
    asked.push((variables as { page: { after: string | null } }).page.after);
    const after = asked.at(-1);
    const index = after === null ? 0 : Number(after);
    const page = {
      edges: (given[index] ?? []).map((id) => ({ node: session({ id }) })),
      pageInfo: { hasNextPage: index + 1 < given.length, endCursor: String(index + 1) },
      totalCount: 4,
    };
    return Promise.resolve({ workflowSessionsConnection: page, quarantinedEventsConnection: page });
  };
  return { asked, request: request as never };
}

test("pages are joined, a session that moved to the next one is there once, and then nothing moves by itself", async () => {
  const { parts, tick } = clock();
  const { asked, request } = pages(["a", "b"], ["b", "c"]);
  const list = createSessionList(request, everything, parts);
  await settle();
  expect([list.sessions.value?.length, list.hasMore.value, list.totalCount.value]).toEqual([2, true, 4]);
  await list.loadMore();
  expect(list.sessions.value?.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(list.hasMore.value).toBe(false);
  await tick();
  expect(asked).toEqual([null, "1"]);
});

test("events that were set aside come by pages too", async () => {
  const { parts, tick } = clock();
  const { asked, request } = pages(["a"], ["b"]);
  const list = createQuarantine(request, null, parts);
  await settle();
  await tick();
  await list.loadMore();
  expect(list.events.value?.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(asked).toEqual([null, null, "1"]);
});
