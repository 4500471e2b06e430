import { expect, test } from "vitest";
import type { Request } from "../../src/api/client";
import { createMatches } from "../../src/matches/matches";
import type { Match } from "../../src/matches/model";
import { goal, happened, match } from "../support/matches";
import { FakeTime, settle } from "../support/time";

const DAY = "2026-11-15";
const GONE = happened({ what: "removed" });

/** A server with these matches, and what it was asked. */
function serving(...served: Match[]) {
  const asked: string[] = [];
  const world = new Map(served.map((one) => [one.id, one]));
  const answer = (variables: { readonly id?: string }): unknown => {
    asked.push(variables.id ?? "day");
    if (variables.id !== undefined) return { match: world.get(variables.id) ?? null };
    const edges = [...world.values()].filter(({ kickOff }) => kickOff.startsWith(DAY)).map((node) => ({ node }));
    return { matchesConnection: { edges, pageInfo: { hasNextPage: false, endCursor: null } } };
  };
  const request = ((_: unknown, variables: object) => Promise.resolve(answer(variables))) as unknown as Request;
  const list = createMatches(request, DAY, new AbortController().signal, new FakeTime().wait);
  return { list, asked, world };
}

const shown = ({ list }: ReturnType<typeof serving>) => list.matches.value.map(({ id, goals }) => [id, goals.length]);

test("a match that something happens to is read again, and no other", async () => {
  const page = serving(match({ id: "1", goals: [] }), match({ id: "2", goals: [] }));
  await page.list.load();
  page.world.set("1", match({ id: "1" }));
  page.list.onEvent(happened());
  page.list.onEvent(happened({ what: "searched" }));
  await settle();
  expect(page.asked).toEqual(["day", "1"]);
  expect(shown(page)).toEqual([
    ["1", 1],
    ["2", 0],
  ]);
});

test("a goal that is taken away is gone before anything is read, and does not come back with an old answer", async () => {
  const page = serving(match({ goals: [goal(), goal({ eventId: "other" })] }));
  await page.list.load();
  page.list.onEvent(GONE);
  expect(shown(page)).toEqual([["1", 1]]);
  await settle(); // the answer still has it
  expect(shown(page)).toEqual([["1", 1]]);
});

test("a new match of the day appears; those of other days are asked about once", async () => {
  const page = serving(match({ id: "1" }));
  await page.list.load();
  page.world.set("2", match({ id: "2" }));
  page.world.set("3", match({ id: "3", kickOff: "2026-11-16T00:00:00+00:00" }));
  for (const matchId of ["2", "3"]) page.list.onEvent(happened({ matchId, eventId: null }));
  await settle();
  page.list.onEvent(happened({ matchId: "3" }));
  await settle();
  expect(page.asked).toEqual(["day", "2", "3"]);
  expect(shown(page).map(([id]) => id)).toEqual(["1", "2"]);
});

test("much at once, and a gap, are one reading of the day", async () => {
  const page = serving(...Array.from({ length: 9 }, (_, index) => match({ id: String(index) })));
  await page.list.load();
  for (let index = 0; index < 9; index += 1) page.list.onEvent(happened({ matchId: String(index) }));
  await settle();
  page.list.onGap();
  await settle();
  expect(page.asked).toEqual(["day", "day", "day"]);
});
